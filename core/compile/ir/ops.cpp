#include "core/compile/ir/ops.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/compile/ir/operands.h"

namespace lathe::ir {

namespace {

// By ATen's name without overload: the overloads of one operator are treated alike.
const std::unordered_map<std::string_view, OpKind>& table() {
  static const auto kinds = [] {
    std::unordered_map<std::string_view, OpKind> map;
    const auto all = [&map](OpKind kind, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) map.emplace(name, kind);
    };
    all(OpKind::view, {"alias",   "as_strided",   "detach",         "diagonal",  "expand",           "narrow",
                       "permute", "select",       "slice",          "split",     "split_with_sizes", "squeeze",
                       "t",       "chunk",        "transpose",      "unbind",    "unfold",           "unsqueeze",
                       "view",    "_unsafe_view", "_reshape_alias", "lift_fresh"});
    all(OpKind::pointwise, {"abs",
                            "add",
                            "addcdiv",
                            "addcmul",
                            "bitwise_and",
                            "bitwise_not",
                            "bitwise_or",
                            "ceil",
                            "clamp",
                            "clamp_max",
                            "clamp_min",
                            "clone",
                            "copy",
                            "cos",
                            "div",
                            "elu",
                            "elu_backward",
                            "eq",
                            "erf",
                            "exp",
                            "expm1",
                            "fill",
                            "floor",
                            "ge",
                            "gelu",
                            "gelu_backward",
                            "gt",
                            "le",
                            "lerp",
                            "log",
                            "log1p",
                            "logical_and",
                            "logical_not",
                            "logical_or",
                            "lt",
                            "masked_fill",
                            "maximum",
                            "minimum",
                            "mse_loss_backward",
                            "mul",
                            "ne",
                            "neg",
                            "pow",
                            "reciprocal",
                            "relu",
                            "round",
                            "rsqrt",
                            "rsub",
                            "sigmoid",
                            "sigmoid_backward",
                            "silu",
                            "silu_backward",
                            "sin",
                            "softplus",
                            "softplus_backward",
                            "sqrt",
                            "sub",
                            "tanh",
                            "tanh_backward",
                            "threshold_backward",
                            "where",
                            "_to_copy"});
    all(OpKind::row,
        {"amax", "cumsum", "linalg_vector_norm", "mean", "mse_loss", "native_layer_norm", "native_layer_norm_backward",
         "native_batch_norm", "native_batch_norm_backward", "_native_batch_norm_legit_functional", "sum",
         "_log_softmax", "_softmax", "_softmax_backward_data"});
    all(OpKind::movement, {"cat", "constant_pad_nd", "diag_embed", "flip", "gather", "index", "index_put",
                           "index_select", "repeat", "scatter_add", "select_backward", "slice_backward", "stack"});
    all(OpKind::factory, {"arange", "empty", "empty_strided", "full", "full_like", "new_zeros", "ones", "ones_like",
                          "scalar_tensor", "zeros", "zeros_like", kWrappedNumber});
    return map;
  }();
  return kinds;
}

}  // namespace

OpKind kind(std::string_view op) {
  const auto found = table().find(plain_name(op));
  return found == table().end() ? OpKind::library : found->second;
}

bool is_product(std::string_view op) {
  constexpr std::array names = {"addmm", "baddbmm", "bmm", "mm", "convolution", "linear", "matmul"};
  return std::find(names.begin(), names.end(), plain_name(op)) != names.end();
}

bool is_attention(std::string_view op) {
  return plain_name(op).starts_with("_scaled_dot_product_");
}

bool is_pure(const Node& node) {
  constexpr std::array data_dependent = {
      "nonzero", "masked_select", "_local_scalar_dense", "unique_dim", "_unique2", "bernoulli", "rand", "randn",
      "randint", "randperm",      "native_dropout"};
  return node.draw < 0 && !node.read &&
         std::find(data_dependent.begin(), data_dependent.end(), plain_name(node.op)) == data_dependent.end();
}

}  // namespace lathe::ir
