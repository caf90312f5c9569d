#include "core/config/value_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/base/error.h"
#include "core/config/python_literal.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

constexpr TextId kExpected = LATHE_TEXT("value.expected", "{} must be {}, not '{}'");
constexpr TextId kExpectedKind = LATHE_TEXT("value.expected_kind", "{} must be {}, not {}");
constexpr TextId kQuotes = LATHE_TEXT("value.quotes", "{} must be text: put the value in quotes");
constexpr TextId kNoQuotes = LATHE_TEXT("value.no_quotes", "{} must be {}: write '{}' without quotes");
constexpr TextId kListOf = LATHE_TEXT("value.list_of", "{} must be a list: write [{}]");
constexpr TextId kNotUtf8 = LATHE_TEXT("value.not_utf8", "{} is not UTF-8 text");

std::optional<Steps> steps_from(std::string_view text) {
  if (text.ends_with('%')) {
    const std::optional<double> percent = parse_python_float(text.substr(0, text.size() - 1));
    if (!percent) return std::nullopt;
    return Steps{.is_ratio = true, .ratio = *percent / 100.0};
  }
  const std::optional<double> number = parse_python_float(text);
  if (!number) return std::nullopt;
  if (*number < 1.0) return Steps{.is_ratio = true, .ratio = *number};
  const std::optional<std::int64_t> whole = parse_python_int(text);
  if (!whole) return std::nullopt;  // the reference refuses 1.5 too
  return Steps{.steps = *whole};
}

template <class T>
std::optional<Value> to_value(const std::optional<T>& read) {
  return read ? std::optional<Value>(*read) : std::nullopt;
}

std::optional<Value> read_word(const Option& option, const std::string& word) {
  switch (option.type) {
    case OptionType::flag:
      if (word == "true" || word == "True") return Value(true);
      if (word == "false" || word == "False") return Value(false);
      return std::nullopt;
    case OptionType::integer:
      return to_value(parse_python_int(word));
    case OptionType::real:
      return to_value(parse_python_float(word));
    case OptionType::steps:
      return to_value(steps_from(word));
    case OptionType::text:
    case OptionType::path:
    case OptionType::choice:
      return Value(word);
    case OptionType::text_list:
      return Value(std::vector<std::string>{word});
    case OptionType::real_list: {
      const std::optional<double> number = parse_python_float(word);
      if (!number) return std::nullopt;
      return Value(std::vector<double>{*number});
    }
  }
  return std::nullopt;
}

bool is_list(const Option& option) {
  return option.type == OptionType::text_list || option.type == OptionType::real_list;
}

std::optional<double> number_of(const Node& node) {
  if (node.kind == Node::Kind::integer) return static_cast<double>(node.integer);
  if (node.kind == Node::Kind::real) return node.real;
  return std::nullopt;
}

std::optional<Value> texts_of(const Node& node) {
  std::vector<std::string> texts;
  for (const Node& item : node.items) {
    if (item.kind != Node::Kind::text) return std::nullopt;
    texts.push_back(item.text);
  }
  return texts;
}

std::optional<Value> reals_of(const Node& node) {
  std::vector<double> numbers;
  for (const Node& item : node.items) {
    const std::optional<double> number = number_of(item);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

bool has_choice(const Option& option, std::string_view choice) {
  return std::ranges::find(option.choices, choice) != option.choices.end();
}

std::optional<Value> read_node(const Option& option, const Node& node) {
  using Kind = Node::Kind;
  const bool text = node.kind == Kind::text;
  switch (option.type) {
    case OptionType::flag:
      return node.kind == Kind::boolean ? std::optional<Value>(node.boolean) : std::nullopt;
    case OptionType::integer:
      return node.kind == Kind::integer ? std::optional<Value>(node.integer) : std::nullopt;
    case OptionType::real:
      if (node.kind == Kind::integer) return Value(node.integer);  // the reference keeps an int too
      return node.kind == Kind::real ? std::optional<Value>(node.real) : std::nullopt;
    case OptionType::text:
    case OptionType::path:
      return text ? std::optional<Value>(node.text) : std::nullopt;
    case OptionType::choice:
      if (node.kind == Kind::boolean && has_choice(option, node.boolean ? "true" : "false")) {
        return Value(std::string(node.boolean ? "true" : "false"));
      }
      return text ? std::optional<Value>(node.text) : std::nullopt;
    case OptionType::steps:
      if (node.kind == Kind::integer) return Value(Steps{.steps = node.integer});
      if (node.kind == Kind::real) return Value(Steps{.is_ratio = true, .ratio = node.real});
      return text ? to_value(steps_from(node.text)) : std::nullopt;
    case OptionType::text_list:
      return node.kind == Kind::list ? texts_of(node) : std::nullopt;
    case OptionType::real_list:
      if (const auto number = number_of(node)) return Value(std::vector<double>{*number});
      return node.kind == Kind::list ? reals_of(node) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> value_from_word(const Option& option, const std::string& word, Message& problem) {
  if (first_invalid_utf8(word)) {
    problem = message(kNotUtf8, option.name);
    return std::nullopt;
  }
  std::optional<Value> value = read_word(option, word);
  if (!value) problem = message(kExpected, option.name, name(option.type), one_line(word));
  return value;
}

std::optional<Value> value_from_words(const Option& option, const std::vector<std::string>& words, Message& problem) {
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (const std::string& word : words) {
    const std::optional<Value> one = value_from_word(option, word, problem);
    if (!one) return std::nullopt;
    if (option.type == OptionType::text_list) texts.push_back(word);
    if (option.type == OptionType::real_list) numbers.push_back(std::get<std::vector<double>>(*one).front());
  }
  if (option.type == OptionType::real_list) return numbers;
  return texts;
}

std::optional<Value> value_from_node(const Option& option, const Node& node, Message& problem) {
  std::optional<Value> value = read_node(option, node);
  if (value) return value;
  const bool wants_text = option.type == OptionType::text || option.type == OptionType::path;
  const bool scalar = node.kind == Node::Kind::integer || node.kind == Node::Kind::real ||
                      node.kind == Node::Kind::boolean || node.kind == Node::Kind::date;
  Message ignored;
  if (wants_text && scalar) {
    problem = message(kQuotes, option.name);
  } else if (option.type == OptionType::text_list && node.kind == Node::Kind::text) {
    problem = message(kListOf, option.name, python_repr(node.text));
  } else if (node.kind == Node::Kind::text && !is_list(option) && value_from_word(option, node.text, ignored)) {
    problem = message(kNoQuotes, option.name, name(option.type), one_line(node.text));
  } else {
    problem = message(kExpectedKind, option.name, name(option.type), node.kind_name());
  }
  return std::nullopt;
}

std::string field_text(const Value& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return python_repr(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const Steps& v) const { return python_str(Value(v)); }
    std::string operator()(const std::vector<std::string>& v) const {
      std::vector<std::string> words;
      for (const std::string& item : v) words.push_back(quote_word(item));
      return join(words, " ");
    }
    std::string operator()(const std::vector<double>& v) const {
      std::vector<std::string> words;
      for (const double item : v) words.push_back(python_repr(item));
      return join(words, " ");
    }
  };
  return std::visit(Writer{}, value);
}

std::optional<Value> value_from_field(const Option& option, const std::string& text, Message& problem) {
  if (text.empty()) return option.standard;
  return is_list(option) ? value_from_words(option, split_words(text), problem)
                         : value_from_word(option, text, problem);
}

void apply(const Fix& fix, Settings& settings) {
  for (const auto& [name, text] : fix.set) {
    Message problem;
    std::optional<Value> value = value_from_field(option(name), text, problem);
    if (!value) throw Error(ErrorKind::internal, problem.english());
    settings.set(name, std::move(*value), Source::command_line);
  }
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun, perhaps an empty quoted one
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const char next = i + 1 < line.size() ? line[i + 1] : '\0';
    const bool line_ends = next == '\n' || (next == '\r' && i + 2 < line.size() && line[i + 2] == '\n');
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else if (c == '\\' && quote == '"' && (next == '"' || next == '\\')) {
        word += line[++i];
      } else {
        word += c;
      }
    } else if ((c == '\\' || c == '^') && line_ends) {
      i += next == '\r' ? 2 : 1;
    } else if (c == '\\' && (next == ' ' || next == '\'' || next == '"' || next == '\\')) {
      word += line[++i];  // other backslashes stay: C:\models
      open = true;
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (open) words.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(word);
  return words;
}

std::string quote_word(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || (c & 0x80) != 0 ||
           std::string_view("_-+=./:,%@").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace lathe::config
