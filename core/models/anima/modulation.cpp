#include "core/models/anima/modulation.h"

#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/silu.h>

#include "core/models/anima/norm.h"

namespace lathe::models::anima {

namespace {
// Autocast to fp32: Linears inside compute in fp32 from the fp16 weights, adapters included.
class FloatAutocast {
 public:
  explicit FloatAutocast(at::DeviceType device)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        dtype_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_dtype(device_, at::kFloat);
    at::autocast::set_autocast_enabled(device_, true);
  }
  ~FloatAutocast() {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
  }
  FloatAutocast(const FloatAutocast&) = delete;
  FloatAutocast& operator=(const FloatAutocast&) = delete;

 private:
  at::DeviceType device_;
  bool enabled_;
  at::ScalarType dtype_;
};
}  // namespace

void Modulation::register_in(WeightTable& table, const std::string& name, std::int64_t width, std::int64_t rank,
                             std::int64_t parts) {
  width_ = width;
  parts_ = parts;
  table.add(name + ".1", down_, rank, width);
  table.add(name + ".2", up_, parts * width, rank);
}

std::vector<at::Tensor> Modulation::forward(const at::Tensor& e, const at::Tensor& m) const {
  std::optional<FloatAutocast> in_float;
  if (keeps_residual_in_float(m)) in_float.emplace(e.device().type());
  const at::Tensor all = up_(down_(at::silu(e))) + m.slice(-1, 0, parts_ * width_);
  std::vector<at::Tensor> parts = all.chunk(parts_, -1);
  for (at::Tensor& part : parts) part = part.unsqueeze(2).unsqueeze(2);
  return parts;
}

at::Tensor modulated_norm(const at::Tensor& x, const at::Tensor& shift, const at::Tensor& scale) {
  return layer_norm(x) * (1 + scale) + shift;
}

bool keeps_residual_in_float(const at::Tensor& m) {
  return m.scalar_type() == at::kHalf;
}

}  // namespace lathe::models::anima
