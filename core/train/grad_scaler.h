#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lathe::train {

// Dynamic loss scaling for fp16 (spec 4.6): gradients too small for fp16 survive because the loss is multiplied by a
// large factor first. A step whose gradients overflowed is skipped and the factor halved; after `growth_interval` good
// steps it doubles. As torch's GradScaler.
//
//   scaler.scale(loss).backward();
//   scaler.unscale(parameters);             // then clip
//   if (!scaler.found_overflow()) optimizer.step();
//   scaler.update();
class GradScaler {
 public:
  struct Options {
    double initial_scale = 65536.0, growth = 2.0, backoff = 0.5;
    std::int64_t growth_interval = 2000;
  };
  explicit GradScaler(at::Device device) : GradScaler(device, Options()) {}
  GradScaler(at::Device device, const Options& options);

  at::Tensor scale(const at::Tensor& loss) const;
  // Divides the gradients by the scale and looks for values that are not finite. fp16 gradients are permitted
  // (full_fp16). Once between two updates.
  void unscale(const std::vector<at::Tensor>& parameters);
  // Whether unscale() met a value that is not finite (waits for the device).
  bool found_overflow() const;
  // Ends the step: adapts the scale.
  void update();

  double current_scale() const;

  struct State {
    double scale = 0.0;
    std::int64_t good_steps = 0;
  };
  State state() const;
  void set_state(const State& state);

 private:
  Options options_;
  at::Tensor scale_;       // fp32 []
  at::Tensor good_steps_;  // int32 []
  at::Tensor found_inf_;   // fp32 [], 1 where an overflow was met
};

}  // namespace lathe::train
