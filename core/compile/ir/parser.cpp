#include <cctype>
#include <charconv>
#include <map>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/ir/text.h"

namespace lathe::ir {

namespace {

// One line of the text, read from left to right.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) {}

  [[noreturn]] void fail(std::string_view expected) const {
    throw Error(ErrorKind::format, format("graph, line {}, column {}: expected {}, found '{}'", number_, position_ + 1,
                                          expected, text_.substr(position_, 20)));
  }
  bool at_end() {
    skip();
    return position_ >= text_.size();
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(position_).starts_with(token)) return false;
    const std::size_t after = position_ + token.size();
    const bool is_word = std::isalnum(static_cast<unsigned char>(token.back())) != 0;
    if (is_word && after < text_.size() && is_word_character(text_[after])) return false;
    position_ = after;
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) fail(format("'{}'", token));
  }
  bool peek(std::string_view token) {
    skip();
    return text_.substr(position_).starts_with(token);
  }
  std::string word() {
    skip();
    const std::size_t start = position_;
    while (position_ < text_.size() && is_word_character(text_[position_])) ++position_;
    if (start == position_) fail("a name");
    return std::string(text_.substr(start, position_ - start));
  }
  std::int64_t integer() {
    skip();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("an integer");
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  double real() {
    skip();
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number");
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::string quoted() {
    need("\"");
    std::string out;
    while (position_ < text_.size() && text_[position_] != '"') {
      if (text_[position_] == '\\') ++position_;
      if (position_ < text_.size()) out += text_[position_++];
    }
    need("\"");
    return out;
  }
  // Everything up to one of `ends`, for sizes.
  std::string_view until(std::string_view ends) {
    skip();
    const std::size_t start = position_;
    position_ = std::min(text_.find_first_of(ends, position_), text_.size());
    return text_.substr(start, position_ - start);
  }

 private:
  static bool is_word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':';
  }
  void skip() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
  }
  std::string_view text_;
  std::size_t position_ = 0;
  int number_;
};

class Parser {
 public:
  Graph parse(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view content = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      content = content.substr(0, content.find('#'));
      Line line(content, ++number);
      if (!line.at_end()) statement(line);
    }
    return std::move(graph_);
  }

 private:
  void statement(Line& line) {
    if (line.take("symbol")) {
      symbol(line);
    } else if (line.take("input")) {
      declare(line, Origin::input, graph_.inputs);
    } else if (line.take("parameter")) {
      declare(line, Origin::parameter, graph_.parameters);
    } else if (line.take("constant")) {
      declare(line, Origin::constant, graph_.constants);
    } else if (line.take("tangent")) {
      declare(line, Origin::tangent, graph_.tangents);
    } else if (line.take("output_view")) {
      output_view(line);
    } else if (line.take("output")) {
      graph_.outputs.push_back(id(line));
    } else if (line.take("input_gradient")) {
      graph_.input_gradients.push_back(id(line));
    } else if (line.take("parameter_gradient")) {
      graph_.parameter_gradients.push_back(id(line));
    } else if (line.take("write_back")) {
      const ValueId target = id(line);
      line.need("from");
      graph_.write_backs.push_back({target, id(line)});
    } else if (line.take("break")) {
      const auto node_index = static_cast<std::int32_t>(line.integer());
      graph_.breaks.push_back({node_index, line.word()});
    } else {
      node(line);
    }
    if (!line.at_end()) line.fail("the end of the line");
  }

  ValueId id(Line& line) {
    if (line.take("_")) return -1;
    line.need("%");
    return static_cast<ValueId>(line.integer());
  }

  std::vector<Size> sizes(Line& line) {
    line.need("[");
    std::vector<Size> out;
    while (!line.take("]")) {
      if (!out.empty()) line.need(",");
      out.push_back(size(line, ",]"));
    }
    return out;
  }

  Size size(Line& line, std::string_view ends) {
    const std::string_view text = line.until(ends);
    const auto parsed = parse_size(text);
    if (!parsed) line.fail(format("a size instead of '{}'", text));
    return *parsed;
  }

  DType dtype(Line& line) {
    for (const DType candidate : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
                                  DType::i8, DType::u8, DType::boolean}) {
      if (line.take(name(candidate))) return candidate;
    }
    line.fail("an element type");
  }

  Device device(Line& line) {
    line.need("@");
    if (line.take("cpu")) return {};
    const std::string text = line.word();
    if (!text.starts_with("cuda:")) line.fail("@cpu or @cuda:n");
    return {Device::Type::cuda, std::stoi(text.substr(5))};
  }

  // "%2: f32[2] strides [1] @cuda:0" defines value 2.
  ValueId typed(Line& line, Origin origin, std::int32_t index) {
    const ValueId result = id(line);
    if (result < 0) return result;
    line.need(":");
    Value value;
    value.dtype = dtype(line);
    value.sizes = sizes(line);
    line.need("strides");
    value.strides = sizes(line);
    if (line.peek("@")) value.device = device(line);
    value.origin = origin;
    value.index = index;
    const auto position = static_cast<std::size_t>(result);
    if (position >= graph_.values.size()) graph_.values.resize(position + 1);
    graph_.values[position] = std::move(value);
    return result;
  }

  void declare(Line& line, Origin origin, std::vector<ValueId>& into) {
    into.push_back(typed(line, origin, static_cast<std::int32_t>(into.size())));
  }

  void symbol(Line& line) {
    if (line.word() != "s" + std::to_string(graph_.symbols.size()) + ":") line.fail("symbols in order: s0:, s1: …");
    Symbol symbol;
    symbol.from = line.take("data") ? Symbol::From::data : Symbol::From::input_dim;
    if (symbol.from == Symbol::From::input_dim) line.need("input_dim");
    symbol.value = id(line);
    line.need("dim");
    symbol.dim = static_cast<int>(line.integer());
    line.need("hint");
    symbol.hint = line.integer();
    line.need("min");
    symbol.min = line.integer();
    if (line.take("max")) symbol.max = line.integer();
    if (line.take("multiple_of")) symbol.multiple_of = line.integer();
    graph_.symbols.push_back(symbol);
  }

  void output_view(Line& line) {
    OutputView view;
    view.output = static_cast<std::int32_t>(line.integer());
    line.need("of");
    if (line.take("parameter")) {
      view.of = OutputView::Of::parameter;
    } else if (line.take("output")) {
      view.of = OutputView::Of::output;
    } else {
      line.need("input");
    }
    view.source = static_cast<std::int32_t>(line.integer());
    line.need("sizes");
    view.sizes = sizes(line);
    line.need("strides");
    view.strides = sizes(line);
    line.need("offset");
    view.offset = size(line, "");
    graph_.output_views.push_back(std::move(view));
  }

  Operand operand(Line& line) {
    if (line.peek("%") || line.peek("_")) return {Operand::Kind::tensor, {id(line)}, {}};
    if (line.take("{")) {
      Operand tensors{Operand::Kind::tensors, {}, {}};
      while (!line.take("}")) {
        if (!tensors.values.empty()) line.need(",");
        tensors.values.push_back(id(line));
      }
      return tensors;
    }
    return {Operand::Kind::attribute, {}, attribute(line)};
  }

  Attribute attribute(Line& line) {
    if (line.take("none")) return std::monostate();
    if (line.take("true")) return true;
    if (line.take("false")) return false;
    if (line.peek("\"")) return line.quoted();
    if (line.peek("@")) return device(line);
    if (line.take(":")) return dtype(line);
    if (line.peek("r[")) return reals(line);
    if (line.peek("b[")) return booleans(line);
    if (line.peek("[")) return sizes(line);
    const std::string_view text = line.until(",)");
    if (text.find_first_of(".n") != std::string_view::npos || text.find('e') != std::string_view::npos) {
      Line number(text, 0);
      return number.real();
    }
    const auto parsed = parse_size(text);
    if (!parsed) line.fail(format("an operand instead of '{}'", text));
    return *parsed;
  }

  std::vector<double> reals(Line& line) {
    line.need("r[");
    std::vector<double> out;
    while (!line.take("]")) {
      if (!out.empty()) line.need(",");
      out.push_back(line.real());
    }
    return out;
  }

  std::vector<bool> booleans(Line& line) {
    line.need("b[");
    std::vector<bool> out;
    while (!line.take("]")) {
      if (!out.empty()) line.need(",");
      out.push_back(line.take("true"));
      if (!out.back()) line.need("false");
    }
    return out;
  }

  void node(Line& line) {
    Node node;
    const auto index = static_cast<std::int32_t>(graph_.nodes.size());
    while (!line.take("=")) {
      if (!node.results.empty()) line.need(",");
      node.results.push_back(typed(line, Origin::node, index));
    }
    node.backward = line.take("backward");
    node.op = line.word();
    line.need("(");
    while (!line.take(")")) {
      if (!node.operands.empty()) line.need(",");
      node.operands.push_back(operand(line));
    }
    if (line.take("draw")) {
      node.draw = static_cast<std::int32_t>(line.integer());
      graph_.draw_count = std::max(graph_.draw_count, node.draw + 1);
    }
    if (line.take("read")) node.read = read(line);
    graph_.nodes.push_back(std::move(node));
  }

  ScalarRead read(Line& line) {
    ScalarRead read;
    if (line.take("boolean")) {
      read.type = ScalarRead::Type::boolean;
    } else if (line.take("integer")) {
      read.type = ScalarRead::Type::integer;
    } else {
      line.need("real");
      read.type = ScalarRead::Type::real;
    }
    read.expected = line.real();
    return read;
  }

  Graph graph_;
};

}  // namespace

Graph parse(std::string_view text) {
  return Parser().parse(text);
}

}  // namespace lathe::ir
