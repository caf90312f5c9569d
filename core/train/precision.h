#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>

namespace lathe::train {

// P, the dtype of the base weights and of autocast: no → fp32, fp16, bf16. Error(settings) for another text.
at::ScalarType base_dtype(std::string_view mixed_precision);
// What save_precision names: float, fp16, bf16. Error(settings) for another text.
at::ScalarType save_dtype(std::string_view save_precision);

// torch's autocast state of one device type on this thread.
struct AutocastState {
  at::DeviceType device = at::kCPU;
  bool enabled = false;
  at::ScalarType dtype = at::kFloat;
  bool cache = true;  // whether casts of parameters are kept until the outermost guard ends
};
AutocastState autocast_state(at::DeviceType device);

// Autocast as `state` says while it lives, like torch.autocast: fp32 as dtype means off. The outermost guard's end
// drops the cached casts.
class AutocastGuard {
 public:
  explicit AutocastGuard(const AutocastState& state);
  // On, in P; off where P is fp32.
  AutocastGuard(at::DeviceType device, at::ScalarType dtype);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  AutocastState previous_;
};

// Process-wide switches of matrix products and convolutions; unset ones stay at torch's default.
struct MatmulSettings {
  bool allow_tf32 = false;                    // cuda_allow_tf32: products and cuDNN convolutions
  bool cudnn_benchmark = false;               // cuda_cudnn_benchmark
  std::string_view float32_matmul_precision;  // "", highest, high, medium
};
void apply(const MatmulSettings& settings);
// What is in force: "tf32 matmul off, tf32 cudnn on, float32_matmul_precision highest".
std::string matmul_settings_text();

}  // namespace lathe::train
