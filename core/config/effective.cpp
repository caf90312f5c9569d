#include "core/config/effective.h"

#include "core/base/format.h"
#include "core/config/python_literal.h"
#include "core/config/schema.h"
#include "core/config/value_text.h"

namespace lathe::config {

namespace {

std::string source_comment(Source source) {
  switch (source) {
    case Source::standard:
      return {};
    case Source::file:
      return "  # settings file";
    case Source::command_line:
      return "  # command line";
    case Source::automatic:
      return "  # set automatically";
  }
  return {};
}

template <class Item, class Write>
std::string toml_list(const std::vector<Item>& items, Write write) {
  std::vector<std::string> texts;
  for (const Item& item : items) texts.push_back(write(item));
  return "[" + join(texts, ", ") + "]";
}

std::string toml_value(const Value& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return "\"\""; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return python_repr(v); }
    std::string operator()(const std::string& v) const { return toml_string(v); }
    std::string operator()(const Steps& v) const { return python_str(Value(v)); }
    std::string operator()(const std::vector<std::string>& v) const { return toml_list(v, toml_string); }
    std::string operator()(const std::vector<double>& v) const {
      return toml_list(v, [](double item) { return python_repr(item); });
    }
  };
  return std::visit(Writer{}, value);
}

bool is_written(const Option& row, const Settings& settings) {
  return row.name != "config_file" && row.name != "output_config" && !settings.is_default(row.name);
}

// A share above 1 has no other spelling on the command line; below 1 the plain number is read as a share.
std::string steps_word(const Steps& steps) {
  if (!steps.is_ratio) return std::to_string(steps.steps);
  return steps.ratio < 1.0 ? python_repr(steps.ratio) : python_repr(steps.ratio * 100.0) + "%";
}

void append_words(std::vector<std::string>& words, const Option& row, const Value& value) {
  const std::string name = "--" + std::string(row.name);
  std::vector<std::string> values;
  if (const auto* flag = std::get_if<bool>(&value)) {
    words.push_back(*flag ? name : name + "=false");
    return;
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    values = *texts;
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    for (const double number : *numbers) values.push_back(python_repr(number));
  } else if (const auto* steps = std::get_if<Steps>(&value)) {
    values.push_back(steps_word(*steps));
  } else {
    values.push_back(field_text(value));
  }
  if (values.size() == 1 && values.front().starts_with('-')) {
    words.push_back(name + "=" + values.front());
    return;
  }
  words.push_back(name);
  words.insert(words.end(), values.begin(), values.end());
}

}  // namespace

std::string toml_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (code < 0x20 || code == 0x7f) {
      out += format("\\u{:04x}", static_cast<std::int64_t>(code));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string effective_toml(const Settings& settings) {
  std::string text = "# Settings that differ from their defaults.\n";
  for (const Section section : sections()) {
    std::string lines;
    for (const Option& row : options()) {
      if (row.section != section || !is_written(row, settings)) continue;
      if (row.secret) {
        lines += format("# {} is set; its value is not written\n", row.name);
        continue;
      }
      lines += format("{} = {}{}\n", row.name, toml_value(settings.value(row.name)),
                      source_comment(settings.source(row.name)));
    }
    if (!lines.empty()) text += format("\n[{}]\n{}", name(section), lines);
  }
  return text;
}

std::vector<std::string> effective_words(const Settings& settings) {
  std::vector<std::string> words;
  for (const Option& row : options()) {
    if (is_written(row, settings) && !row.secret) append_words(words, row, settings.value(row.name));
  }
  return words;
}

std::vector<std::string> differing(const Settings& a, const Settings& b) {
  std::vector<std::string> names;
  for (const Option& row : options()) {
    if (!(a.value(row.name) == b.value(row.name))) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace lathe::config
