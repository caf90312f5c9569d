#include "tests/core/compile/passes/random_graph.h"

#include <algorithm>
#include <random>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/shape.h"

namespace lathe::testing {

using ir::attribute_operand;
using ir::DType;
using ir::Size;
using ir::tensor_operand;
using ir::ValueId;
using Sizes = std::vector<Size>;

namespace {

class Generator {
 public:
  Generator(unsigned seed, bool half) : random_(seed), half_(half) {
    graph_.symbols.resize(2);
    const std::vector<Sizes> shapes = {{s(0), s(1), 6}, {s(0), s(1), 6},  {6},
                                       {s(1), 6},       {s(0) * s(1), 6}, {s(0), 1, 6}};
    for (const Sizes& sizes : shapes) {
      graph_.inputs.push_back(add(DType::f32, sizes, ir::dense_strides(sizes), ir::Origin::input));
      graph_.values.back().index = static_cast<std::int32_t>(graph_.inputs.size()) - 1;
    }
    for (int i = 0; i < 2; ++i) {
      graph_.symbols[static_cast<std::size_t>(i)].value = 0;
      graph_.symbols[static_cast<std::size_t>(i)].dim = i;
      graph_.symbols[static_cast<std::size_t>(i)].hint = 3 + 2 * i;
    }
  }

  ir::Graph run(int nodes) {
    while (static_cast<int>(graph_.nodes.size()) < nodes) step();
    std::vector<bool> read(graph_.values.size(), false);
    for (const ir::Node& node : graph_.nodes) ir::for_each_read(node, [&](ValueId id) { read[at(id)] = true; });
    for (std::size_t id = graph_.inputs.size(); id < graph_.values.size(); ++id) {
      if (!read[id]) graph_.outputs.push_back(static_cast<ValueId>(id));
    }
    return std::move(graph_);
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  static Size s(int id) { return Size::symbol(id); }
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  // Recent values more often, so that chains form.
  ValueId any() {
    const int count = static_cast<int>(graph_.values.size());
    return count - 1 - std::min(pick(count), pick(count));
  }
  const ir::Value& value(ValueId id) const { return graph_.values[at(id)]; }

  ValueId add(DType dtype, Sizes sizes, Sizes strides, ir::Origin origin) {
    graph_.values.push_back({dtype, {}, std::move(sizes), std::move(strides), origin, -1});
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }
  // Row-major, or the two last dimensions the other way round.
  Sizes some_layout(const Sizes& sizes) {
    Sizes strides = ir::dense_strides(sizes);
    if (sizes.size() < 2 || pick(4) != 0) return strides;
    Sizes swapped = sizes;
    std::swap(swapped[sizes.size() - 1], swapped[sizes.size() - 2]);
    strides = ir::dense_strides(swapped);
    std::swap(strides[sizes.size() - 1], strides[sizes.size() - 2]);
    return strides;
  }
  ValueId append(const char* op, std::vector<ir::Operand> operands, DType dtype, const Sizes& sizes, Sizes strides) {
    const ValueId id = add(dtype, sizes, std::move(strides), ir::Origin::node);
    graph_.values.back().index = static_cast<std::int32_t>(graph_.nodes.size());
    ir::Node node;
    node.op = op;
    node.operands = std::move(operands);
    node.results = {id};
    graph_.nodes.push_back(std::move(node));
    return id;
  }
  ValueId compute(const char* op, std::vector<ir::Operand> operands, DType dtype, const Sizes& sizes) {
    return append(op, std::move(operands), dtype, sizes, some_layout(sizes));
  }

  void step() {
    switch (pick(10)) {
      case 0:
      case 1:
        return unary();
      case 2:
      case 3:
      case 4:
        return binary();
      case 5:
        return reduce();
      case 6:
        return move();
      default:
        return view();
    }
  }

  void unary() {
    const ValueId x = any();
    const std::vector<const char*> ops = {"tanh", "sin", "neg", "sigmoid", "abs"};
    const DType dtype = value(x).dtype;
    if (half_ && pick(3) == 0) {
      const DType to = dtype == DType::f32 ? DType::bf16 : DType::f32;
      compute("_to_copy", {tensor_operand(x), attribute_operand(to)}, to, Sizes(value(x).sizes));
      return;
    }
    compute(ops[static_cast<std::size_t>(pick(5))], {tensor_operand(x)}, dtype, Sizes(value(x).sizes));
  }

  static bool broadcasts(const Sizes& small, const Sizes& large) {
    if (small.size() > large.size()) return false;
    for (std::size_t i = 0; i < small.size(); ++i) {
      const Size& size = small[small.size() - 1 - i];
      if (!(size == Size(1)) && !(size == large[large.size() - 1 - i])) return false;
    }
    return true;
  }

  void binary() {
    const ValueId a = any();
    for (int attempt = 0; attempt < 20; ++attempt) {
      const ValueId b = any();
      if (!broadcasts(value(b).sizes, value(a).sizes)) continue;
      const DType dtype = value(a).dtype == value(b).dtype ? value(a).dtype : DType::f32;
      const Sizes sizes = value(a).sizes;
      const bool sum = pick(2) == 0;
      const ValueId both =
          sum ? compute("add.Tensor", {tensor_operand(a), tensor_operand(b), attribute_operand(Size(1))}, dtype, sizes)
              : compute("mul.Tensor", {tensor_operand(b), tensor_operand(a)}, dtype, sizes);
      compute("sin", {tensor_operand(both)}, dtype, sizes);  // keeps numbers small
      return;
    }
  }

  void reduce() {
    const ValueId x = any();
    if (value(x).sizes.empty() || value(x).sizes.back() == Size(1)) return;
    const bool keep = pick(3) != 0;
    Sizes sizes = value(x).sizes;
    sizes.pop_back();
    if (keep) sizes.emplace_back(1);
    if (pick(4) == 0 && value(x).dtype == DType::f32) {
      compute("cumsum", {tensor_operand(x), attribute_operand(Size(-1)), attribute_operand()}, DType::f32,
              Sizes(value(x).sizes));
      compute("sin", {tensor_operand(static_cast<ValueId>(graph_.values.size()) - 1)}, DType::f32,
              Sizes(value(x).sizes));
      return;
    }
    const DType dtype = value(x).dtype;
    const std::vector<ir::Operand> operands = {tensor_operand(x), attribute_operand(Sizes{Size(-1)}),
                                               attribute_operand(keep), attribute_operand()};
    if (pick(3) == 0) {
      compute("amax", {operands[0], operands[1], operands[2]}, dtype, sizes);
    } else {
      compute("mean.dim", operands, dtype, sizes);
    }
  }

  void move() {
    const ValueId x = any();
    const Sizes sizes = value(x).sizes;
    if (sizes.empty()) return;
    const auto last = static_cast<std::int64_t>(sizes.size()) - 1;
    if (pick(3) == 0) {
      compute("flip", {tensor_operand(x), attribute_operand(Sizes{Size(pick(static_cast<int>(sizes.size())))})},
              value(x).dtype, sizes);
      return;
    }
    if (!(sizes.back() == Size(6))) return;
    Sizes half = sizes;
    half.back() = 3;
    const auto part = [&](std::int64_t start) {
      return append("slice.Tensor",
                    {tensor_operand(x), attribute_operand(Size(last)), attribute_operand(Size(start)),
                     attribute_operand(Size(start + 3)), attribute_operand(Size(1))},
                    value(x).dtype, half, Sizes(value(x).strides));
    };
    if (pick(2) == 0) {
      compute("slice_backward",
              {tensor_operand(part(3)), attribute_operand(sizes), attribute_operand(Size(last)),
               attribute_operand(Size(3)), attribute_operand(Size(6)), attribute_operand(Size(1))},
              value(x).dtype, sizes);
      return;
    }
    ir::Operand pieces;
    pieces.kind = ir::Operand::Kind::tensors;
    pieces.values = {part(3), part(0)};
    compute("cat", {pieces, attribute_operand(Size(-1))}, value(x).dtype, sizes);
  }

  void view() {
    const ValueId x = any();
    const Sizes sizes = value(x).sizes, strides = value(x).strides;
    const auto show = [&](const char* op, std::vector<ir::Operand> more, const Sizes& to, const Sizes& steps) {
      more.insert(more.begin(), tensor_operand(x));
      append(op, std::move(more), value(x).dtype, to, steps);
    };
    const bool dense = strides == ir::dense_strides(sizes);
    const auto reshape = [&](const Sizes& to) { show("view", {attribute_operand(to)}, to, ir::dense_strides(to)); };
    if (sizes.size() == 3 && dense && pick(2) == 0) return reshape({sizes[0] * sizes[1], sizes[2]});
    if (sizes.size() == 2 && dense && sizes[0] == s(0) * s(1) && pick(2) == 0) return reshape({s(0), s(1), sizes[1]});
    if (dense && !sizes.empty() && sizes.back() == Size(6) && pick(3) == 0) {
      Sizes to = sizes;
      to.back() = 2;
      to.emplace_back(3);
      return reshape(to);
    }
    if (dense && sizes.size() > 1 && sizes.back() == Size(3) && sizes[sizes.size() - 2] == Size(2)) {
      Sizes to = sizes;
      to.pop_back();
      to.back() = 6;
      return reshape(to);
    }
    if (sizes.size() < 2) return;
    Sizes to = sizes, steps = strides;
    if (pick(2) == 0) {
      std::swap(to[0], to[1]);
      std::swap(steps[0], steps[1]);
      return show("transpose.int", {attribute_operand(Size(0)), attribute_operand(Size(1))}, to, steps);
    }
    to.erase(to.begin());
    steps.erase(steps.begin());
    show("select.int", {attribute_operand(Size(0)), attribute_operand(Size(pick(2) == 0 ? 0 : -1))}, to, steps);
  }

  std::mt19937 random_;
  bool half_;
  ir::Graph graph_;
};

}  // namespace

ir::Graph random_graph(unsigned seed, int nodes, bool half) {
  return Generator(seed, half).run(nodes);
}

}  // namespace lathe::testing
