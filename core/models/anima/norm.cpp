#include "core/models/anima/norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rsqrt.h>

namespace lathe::models::anima {

namespace {
at::Tensor inverse_rms(const at::Tensor& x_float) {
  return at::rsqrt(x_float.pow(2).mean(-1, /*keepdim=*/true) + kNormEps);
}
}  // namespace

at::Tensor transformer_rms_norm(const at::Tensor& x, const at::Tensor& weight) {
  const at::Tensor wide = x.to(at::kFloat);
  return (wide * inverse_rms(wide)).to(x.scalar_type()) * weight;
}

at::Tensor adapter_rms_norm(const at::Tensor& x, const at::Tensor& weight) {
  // Not `wide * …`: the gradient of x would be summed in fp32 where the reference rounds both parts.
  at::Tensor y = x * inverse_rms(x.to(at::kFloat));
  if (weight.scalar_type() == at::kHalf || weight.scalar_type() == at::kBFloat16) y = y.to(weight.scalar_type());
  return weight * y;
}

at::Tensor layer_norm(const at::Tensor& x) {
  return at::layer_norm(x, {x.size(-1)}, {}, {}, kNormEps);
}

}  // namespace lathe::models::anima
