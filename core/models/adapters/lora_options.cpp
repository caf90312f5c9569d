#include "core/models/adapters/lora_options.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/config/diagnostic.h"
#include "core/config/python_literal.h"

namespace lathe::models {

namespace {

Error unreadable(const config::KeyValue& argument, std::string_view expected) {
  return Error(ErrorKind::settings,
               format("network_args: {} must be {}, not '{}'", argument.key, expected, argument.text));
}

double number(const config::KeyValue& argument) {
  const std::optional<double> value = config::parse_python_float(argument.text);
  if (!value) throw unreadable(argument, "a number");
  return *value;
}

// One pattern or a list of them, in Python's notation.
std::vector<std::string> patterns(const config::KeyValue& argument) {
  using Kind = config::PythonValue::Kind;
  const std::optional<config::PythonValue> value = config::parse_python_literal(argument.text);
  if (value && value->kind == Kind::text) return {value->text};
  if (!value || value->kind != Kind::list) throw unreadable(argument, "a list of texts");
  std::vector<std::string> all;
  for (const config::PythonValue& item : value->items) {
    if (item.kind != Kind::text) throw unreadable(argument, "a list of texts");
    all.push_back(item.text);
  }
  return all;
}

std::string trimmed(std::string_view text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!text.empty() && is_space(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && is_space(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

// "pattern=value,pattern=value", cut at commas and then at the first '='. A pattern given twice keeps its place and
// takes the later value.
template <class T, class Parse>
std::vector<std::pair<std::string, T>> by_pattern(std::string_view text, const Parse& parse) {
  std::vector<std::pair<std::string, T>> entries;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t at = entry.find('=');
    if (at == std::string_view::npos) continue;
    const std::string pattern = trimmed(entry.substr(0, at));
    const std::optional<T> value = parse(trimmed(entry.substr(at + 1)));
    if (!value) continue;
    const auto known = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.first == pattern; });
    if (known == entries.end()) {
      entries.emplace_back(pattern, *value);
    } else {
      known->second = *value;
    }
  }
  return entries;
}

bool is_true(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text == "true";
}

void apply(const config::KeyValue& argument, LoraOptions& options) {
  const std::string& key = argument.key;
  if (key == "train_llm_adapter") options.train_llm_adapter = is_true(argument.text);
  if (key == "exclude_patterns") options.exclude_patterns = patterns(argument);
  if (key == "include_patterns") options.include_patterns = patterns(argument);
  if (key == "network_reg_dims") {
    options.rank_by_pattern = by_pattern<std::int64_t>(argument.text, config::parse_python_int);
  }
  if (key == "network_reg_lrs") {
    options.lr_by_pattern = by_pattern<double>(argument.text, config::parse_python_float);
  }
  if (key == "loraplus_lr_ratio") options.loraplus_lr_ratio = number(argument);
  if (key == "loraplus_unet_lr_ratio") options.loraplus_unet_lr_ratio = number(argument);
  if (key == "loraplus_text_encoder_lr_ratio") options.loraplus_text_encoder_lr_ratio = number(argument);
  if (key == "rank_dropout") options.rank_dropout = number(argument);
  if (key == "module_dropout") options.module_dropout = number(argument);
}

}  // namespace

LoraOptions lora_options(const config::Settings& settings) {
  LoraOptions options;
  options.rank = settings.maybe_integer("network_dim").value_or(options.rank);
  options.alpha = settings.real("network_alpha");
  options.alpha_is_integer = std::holds_alternative<std::int64_t>(settings.value("network_alpha"));
  options.dropout = settings.maybe_real("network_dropout").value_or(0.0);
  config::Findings reported_by_validation;
  for (const config::KeyValue& argument : parse_key_values(settings, "network_args", reported_by_validation)) {
    apply(argument, options);
  }
  return options;
}

}  // namespace lathe::models
