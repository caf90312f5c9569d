#include "core/config/schema.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "core/base/error.h"
#include "core/config/option_table.h"

namespace lathe::config {

namespace {

struct Group {
  Section section;
  std::vector<Option> (*make)();
};

constexpr Group kGroups[] = {
    {Section::model, table::model_options},         {Section::dataset, table::dataset_options},
    {Section::adapter, table::adapter_options},     {Section::training, table::training_options},
    {Section::optimizer, table::optimizer_options}, {Section::compile, table::compile_options},
    {Section::memory, table::memory_options},       {Section::samples, table::sample_options},
    {Section::output, table::output_options},       {Section::logging, table::logging_options},
    {Section::advanced, table::advanced_options},
};

std::vector<Option> all_groups() {
  std::vector<Option> all;
  for (const Group& group : kGroups) {
    for (Option& row : group.make()) {
      row.section = group.section;
      all.push_back(std::move(row));
    }
  }
  return all;
}

std::map<std::string_view, const Option*> by_name() {
  std::map<std::string_view, const Option*> found;
  for (const Option& row : options()) found.emplace(row.name, &row);
  return found;
}

}  // namespace

bool Option::accepts(const Value& value) const {
  if (std::holds_alternative<std::monostate>(value)) return may_be_unset();
  switch (type) {
    case OptionType::flag:
      return std::holds_alternative<bool>(value);
    case OptionType::integer:
      return std::holds_alternative<std::int64_t>(value);
    case OptionType::real:
      return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
    case OptionType::text:
    case OptionType::path:
    case OptionType::choice:
      return std::holds_alternative<std::string>(value);
    case OptionType::steps:
      return std::holds_alternative<Steps>(value);
    case OptionType::text_list:
      return std::holds_alternative<std::vector<std::string>>(value);
    case OptionType::real_list:
      return std::holds_alternative<std::vector<double>>(value);
  }
  return false;
}

const std::vector<Option>& options() {
  static const std::vector<Option> all = all_groups();
  return all;
}

const Option* find_option(std::string_view name) {
  static const std::map<std::string_view, const Option*> index = by_name();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

const Option& option(std::string_view name) {
  const Option* found = find_option(name);
  if (found == nullptr) throw Error(ErrorKind::internal, format("there is no option '{}'", name));
  return *found;
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const Option& row : options()) names.emplace_back(row.name);
  return names;
}

const std::vector<Section>& sections() {
  static const std::vector<Section> all = [] {
    std::vector<Section> made;
    for (const Group& group : kGroups) made.push_back(group.section);
    return made;
  }();
  return all;
}

std::string_view name(Section section) {
  switch (section) {
    case Section::model:
      return "model";
    case Section::dataset:
      return "dataset";
    case Section::adapter:
      return "adapter";
    case Section::training:
      return "training";
    case Section::optimizer:
      return "optimizer";
    case Section::compile:
      return "compile";
    case Section::memory:
      return "memory";
    case Section::samples:
      return "samples";
    case Section::output:
      return "output";
    case Section::logging:
      return "logging";
    case Section::advanced:
      return "advanced";
  }
  return "";
}

TextId title(Section section) {
  switch (section) {
    case Section::model:
      return LATHE_TEXT("section.model", "Model");
    case Section::dataset:
      return LATHE_TEXT("section.dataset", "Dataset");
    case Section::adapter:
      return LATHE_TEXT("section.adapter", "Adapter");
    case Section::training:
      return LATHE_TEXT("section.training", "Training");
    case Section::optimizer:
      return LATHE_TEXT("section.optimizer", "Optimizer");
    case Section::compile:
      return LATHE_TEXT("section.compile", "Compile & performance");
    case Section::memory:
      return LATHE_TEXT("section.memory", "Memory");
    case Section::samples:
      return LATHE_TEXT("section.samples", "Samples");
    case Section::output:
      return LATHE_TEXT("section.output", "Output");
    case Section::logging:
      return LATHE_TEXT("section.logging", "Logging");
    case Section::advanced:
      return LATHE_TEXT("section.advanced", "Advanced");
  }
  return {};
}

std::string_view name(OptionType type) {
  switch (type) {
    case OptionType::flag:
      return "true or false";
    case OptionType::integer:
      return "a whole number";
    case OptionType::real:
      return "a number";
    case OptionType::text:
      return "text";
    case OptionType::path:
      return "a path";
    case OptionType::choice:
      return "a choice";
    case OptionType::steps:
      return "a number of steps (100, 0.1 or \"10%\")";
    case OptionType::text_list:
      return "a list of texts";
    case OptionType::real_list:
      return "a list of numbers";
  }
  return "";
}

}  // namespace lathe::config
