#include "core/compile/passes/decompose.h"

#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/rewriter.h"

namespace lathe::passes {

using ir::attribute_operand;
using ir::DType;
using ir::Node;
using ir::Size;
using ir::tensor_operand;
using ir::ValueId;

namespace {

DType wide(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

// Emits the parts. A target of −1 makes a new value, another defines that one: a result of the node replaced.
class Parts {
 public:
  explicit Parts(Rewriter& rewriter) : rewriter_(rewriter) {}

  const ir::Value& value(ValueId id) const { return rewriter_.value(id); }
  std::size_t rank(ValueId id) const { return value(id).sizes.size(); }

  ValueId cast(ValueId x, DType dtype, ValueId target = -1) {
    if (value(x).dtype == dtype && target < 0) return x;
    return define(target, "_to_copy",
                  {tensor_operand(x), attribute_operand(dtype), attribute_operand(), attribute_operand(),
                   attribute_operand(), attribute_operand(false), attribute_operand()},
                  dtype, value(x).sizes, like(x));
  }
  ValueId widened(ValueId x) { return cast(x, wide(value(x).dtype)); }

  ValueId unary(const char* op, ValueId x, ValueId target = -1) {
    return define(target, op, {tensor_operand(x)}, value(x).dtype, value(x).sizes, like(x));
  }
  // The first operand has the sizes of the result.
  ValueId binary(const char* op, ValueId a, ValueId b, ValueId target = -1) {
    std::vector<ir::Operand> operands = {tensor_operand(a), tensor_operand(b)};
    const std::string name = op;
    if (name == "add.Tensor" || name == "sub.Tensor") operands.push_back(attribute_operand(Size(1)));
    return define(target, name, std::move(operands), value(a).dtype, value(a).sizes, like(a));
  }
  ValueId add(ValueId a, ValueId b, ValueId target = -1) { return binary("add.Tensor", a, b, target); }
  ValueId sub(ValueId a, ValueId b, ValueId target = -1) { return binary("sub.Tensor", a, b, target); }
  ValueId mul(ValueId a, ValueId b, ValueId target = -1) { return binary("mul.Tensor", a, b, target); }
  ValueId div(ValueId a, ValueId b, ValueId target = -1) { return binary("div.Tensor", a, b, target); }

  ValueId with_number(const char* op, ValueId x, ir::Attribute number, ValueId target = -1) {
    std::vector<ir::Operand> operands = {tensor_operand(x), attribute_operand(std::move(number))};
    if (std::string(op) == "add.Scalar") operands.push_back(attribute_operand(Size(1)));
    return define(target, op, std::move(operands), value(x).dtype, value(x).sizes, like(x));
  }

  // Along the last dimension, which stays with size 1.
  ValueId along_row(const char* op, ValueId x, ValueId target = -1) {
    std::vector<Size> sizes = value(x).sizes;
    sizes.back() = 1;
    std::vector<ir::Operand> operands = {tensor_operand(x), attribute_operand(std::vector<Size>{Size(-1)}),
                                         attribute_operand(true)};
    if (std::string(op) != "amax") operands.push_back(attribute_operand());
    const std::vector<Size> strides = ir::dense_strides(sizes);
    return define(target, op, std::move(operands), value(x).dtype, sizes, strides);
  }
  ValueId mean(ValueId x, ValueId target = -1) { return along_row("mean.dim", x, target); }
  ValueId sum(ValueId x, ValueId target = -1) { return along_row("sum.dim_IntList", x, target); }

  // Over all dimensions but the last: one number a column.
  ValueId sum_rows(ValueId x, ValueId target = -1) {
    std::vector<Size> dims;
    for (std::size_t dim = 0; dim + 1 < rank(x); ++dim) dims.emplace_back(static_cast<std::int64_t>(dim));
    const std::vector<Size> sizes = {value(x).sizes.back()};
    return define(target, "sum.dim_IntList",
                  {tensor_operand(x), attribute_operand(dims), attribute_operand(false), attribute_operand()},
                  value(x).dtype, sizes, {Size(1)});
  }

  ValueId define(ValueId target, std::string op, std::vector<ir::Operand> operands, DType dtype,
                 std::vector<Size> sizes, std::vector<Size> strides) {
    if (target < 0)
      return rewriter_.make(std::move(op), std::move(operands), dtype, std::move(sizes), std::move(strides));
    rewriter_.define(target, std::move(op), std::move(operands));
    return target;
  }

  // What the node promised, from a value that may be wider: by a cast, or by `make` straight into the target.
  template <class Make>
  ValueId deliver(ValueId target, DType computed, Make&& make) {
    if (target >= 0 && value(target).dtype == computed) return make(target);
    const ValueId made = make(-1);
    if (target >= 0) cast(made, value(target).dtype, target);
    return made;
  }

 private:
  std::vector<Size> like(ValueId x) const { return ir::elementwise_strides(value(x).sizes, value(x).strides); }

  Rewriter& rewriter_;
};

bool is_last(const ir::Value& value, std::optional<std::int64_t> dim) {
  const auto rank = static_cast<std::int64_t>(value.sizes.size());
  return dim && rank > 0 && (*dim == -1 || *dim == rank - 1);
}

bool one_dimension_normalised(const Parts& parts, const Node& node, ValueId x) {
  const auto shape = ir::sizes_at(node, node.op.ends_with("_backward") ? 2 : 1);
  return x >= 0 && shape && shape->size() == 1 && !parts.value(x).sizes.empty() &&
         shape->front() == parts.value(x).sizes.back();
}

ValueId result(const Node& node, std::size_t position) {
  return position < node.results.size() ? node.results[position] : -1;
}

// y = (x − mean) / √(variance + ε) · weight + bias; Ba, Kiros, Hinton 2016 (arXiv:1607.06450).
bool layer_norm(Parts& parts, const Node& node) {
  const ValueId input = ir::tensor_at(node, 0);
  if (!one_dimension_normalised(parts, node, input) || result(node, 0) < 0) return false;
  const DType dtype = wide(parts.value(input).dtype);
  const ValueId x = parts.widened(input), weight = ir::tensor_at(node, 2), bias = ir::tensor_at(node, 3);
  const ValueId mean = parts.deliver(result(node, 1), dtype, [&](ValueId to) { return parts.mean(x, to); });
  const ValueId centred = parts.sub(x, mean);
  const ValueId variance = parts.mean(parts.mul(centred, centred));
  const ValueId shifted = parts.with_number("add.Scalar", variance, ir::number_at(node, 4).value_or(1e-5));
  const ValueId rstd =
      parts.deliver(result(node, 2), dtype, [&](ValueId to) { return parts.unary("rsqrt", shifted, to); });
  // Which step is the last decides which of them defines the result.
  const auto last = [&](ValueId to) {
    ValueId y = parts.mul(centred, rstd, weight < 0 && bias < 0 ? to : -1);
    if (weight >= 0) y = parts.mul(y, parts.cast(weight, dtype), bias < 0 ? to : -1);
    if (bias >= 0) y = parts.add(y, parts.cast(bias, dtype), to);
    return y;
  };
  parts.deliver(result(node, 0), dtype, last);
  return true;
}

// With x̂ = (x − mean) · rstd and g the gradient times the weight: dx = rstd · (g − mean(g) − x̂ · mean(g · x̂)).
bool layer_norm_backward(Parts& parts, const Node& node) {
  const ValueId gradient = ir::tensor_at(node, 0), input = ir::tensor_at(node, 1);
  if (!one_dimension_normalised(parts, node, input) || gradient < 0) return false;
  const DType dtype = wide(parts.value(input).dtype);
  const ValueId weight = ir::tensor_at(node, 5);
  const ValueId g = parts.cast(gradient, dtype), x = parts.cast(input, dtype);
  const ValueId mean = parts.cast(ir::tensor_at(node, 3), dtype), rstd = parts.cast(ir::tensor_at(node, 4), dtype);
  const ValueId normal = parts.mul(parts.sub(x, mean), rstd);
  if (const ValueId dx = result(node, 0); dx >= 0) {
    const ValueId scaled = weight >= 0 ? parts.mul(g, parts.cast(weight, dtype)) : g;
    const ValueId flat = parts.sub(scaled, parts.mean(scaled));
    const ValueId slope = parts.mul(normal, parts.mean(parts.mul(scaled, normal)));
    parts.deliver(dx, dtype, [&](ValueId to) { return parts.mul(parts.sub(flat, slope), rstd, to); });
  }
  if (const ValueId dw = result(node, 1); dw >= 0)
    parts.deliver(dw, dtype, [&](ValueId to) { return parts.sum_rows(parts.mul(g, normal), to); });
  if (const ValueId db = result(node, 2); db >= 0)
    parts.deliver(db, dtype, [&](ValueId to) { return parts.sum_rows(g, to); });
  return true;
}

bool softmax(Parts& parts, const Node& node) {
  const ValueId input = ir::tensor_at(node, 0);
  if (input < 0 || !is_last(parts.value(input), ir::integer_at(node, 1))) return false;
  const std::string_view name = ir::plain_name(node.op);
  const ValueId x = parts.widened(input), y = result(node, 0);
  const DType dtype = parts.value(x).dtype;
  const ValueId largest = parts.along_row("amax", x);
  const ValueId shifted = parts.sub(x, largest);
  const ValueId power = parts.unary("exp", shifted);
  const ValueId total = parts.sum(power);
  parts.deliver(y, dtype, [&](ValueId to) {
    if (name == "_log_softmax") return parts.sub(shifted, parts.unary("log", total), to);
    if (name == "_softmax") return parts.div(power, total, to);
    // _safe_softmax: a row without a finite element gives zeros.
    const ValueId share = parts.div(power, total);
    const ir::Value like = parts.value(largest);
    const ValueId dead = parts.define(
        -1, "eq.Scalar", {tensor_operand(largest), attribute_operand(-std::numeric_limits<double>::infinity())},
        DType::boolean, like.sizes, like.strides);
    const ir::Value of_share = parts.value(share);
    return parts.define(to, "masked_fill.Scalar",
                        {tensor_operand(share), tensor_operand(dead), attribute_operand(Size(0))}, of_share.dtype,
                        of_share.sizes, of_share.strides);
  });
  return true;
}

// dx = y · (g − Σ g·y); of the logarithm: g − exp(y) · Σ g.
bool softmax_backward(Parts& parts, const Node& node) {
  const ValueId gradient = ir::tensor_at(node, 0), output = ir::tensor_at(node, 1);
  if (gradient < 0 || output < 0 || !is_last(parts.value(output), ir::integer_at(node, 2))) return false;
  const ValueId g = parts.widened(gradient), y = parts.widened(output);
  parts.deliver(result(node, 0), parts.value(g).dtype, [&](ValueId to) {
    if (ir::plain_name(node.op) == "_log_softmax_backward_data")
      return parts.sub(g, parts.mul(parts.unary("exp", y), parts.sum(g)), to);
    return parts.mul(parts.sub(g, parts.sum(parts.mul(g, y))), y, to);
  });
  return true;
}

constexpr std::int64_t kMean = 1, kSum = 2;  // ATen's numbers for the reduction of a loss

bool mse_loss(Parts& parts, const Node& node) {
  const ValueId x = ir::tensor_at(node, 0), y = ir::tensor_at(node, 1);
  if (x < 0 || y < 0 || parts.value(x).sizes != parts.value(y).sizes) return false;
  const std::int64_t reduction = ir::integer_at(node, 2).value_or(kMean);
  const ValueId difference = parts.sub(x, y);
  if (reduction != kMean && reduction != kSum) {
    parts.mul(difference, difference, node.results[0]);
    return true;
  }
  const ValueId square = parts.mul(difference, difference);
  parts.define(node.results[0], reduction == kMean ? "mean" : "sum", {tensor_operand(square), attribute_operand()},
               parts.value(square).dtype, {}, {});
  return true;
}

bool mse_loss_backward(Parts& parts, const Node& node) {
  const ValueId g = ir::tensor_at(node, 0), x = ir::tensor_at(node, 1), y = ir::tensor_at(node, 2);
  if (g < 0 || x < 0 || y < 0 || parts.value(x).sizes != parts.value(y).sizes) return false;
  const bool mean = ir::integer_at(node, 3).value_or(kMean) == kMean;
  ValueId slope = parts.with_number("mul.Scalar", parts.sub(x, y), 2.0);
  if (mean) slope = parts.with_number("div.Scalar", slope, ir::element_count(parts.value(x).sizes));
  parts.mul(slope, g, node.results[0]);
  return true;
}

bool vector_norm(Parts& parts, const Node& node) {
  const ValueId input = ir::tensor_at(node, 0);
  const auto dims = ir::integers_at(node, 2);
  if (input < 0 || ir::number_at(node, 1).value_or(2.0) != 2.0 || !dims || dims->size() != 1) return false;
  if (!is_last(parts.value(input), dims->front()) || !ir::flag_at(node, 3)) return false;
  const ValueId x = parts.widened(input), total = parts.sum(parts.mul(x, x));
  parts.deliver(node.results[0], parts.value(x).dtype, [&](ValueId to) { return parts.unary("sqrt", total, to); });
  return true;
}

using Rule = bool (*)(Parts&, const Node&);

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> table = {
      {"native_layer_norm", layer_norm},
      {"native_layer_norm_backward", layer_norm_backward},
      {"_softmax", softmax},
      {"_log_softmax", softmax},
      {"_safe_softmax", softmax},
      {"_softmax_backward_data", softmax_backward},
      {"_log_softmax_backward_data", softmax_backward},
      {"mse_loss", mse_loss},
      {"mse_loss_backward", mse_loss_backward},
      {"linalg_vector_norm", vector_norm},
  };
  return table;
}

}  // namespace

bool decompose(ir::Graph& graph) {
  bool changed = false;
  Rewriter rewriter(graph);
  Parts parts(rewriter);
  for (std::size_t i = 0; i < rewriter.old_nodes().size(); ++i) {
    const Node& node = rewriter.old_nodes()[i];
    const auto rule = rules().find(ir::plain_name(node.op));
    rewriter.replace(i);
    if (rule != rules().end() && rule->second(parts, node)) {
      changed = true;
    } else {
      rewriter.keep(i);
    }
  }
  return changed;
}

}  // namespace lathe::passes
