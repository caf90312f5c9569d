#pragma once

#include "core/train/optimizers/optimizer.h"

namespace lathe::train {

struct AdamwOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
  bool amsgrad = false, maximize = false;
};

// Decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW: p ← p·(1 − lr·wd) − lr·m̂ / (√v̂ + eps).
// State of a parameter: exp_avg, exp_avg_sq (and max_exp_avg_sq) in its dtype, step as fp32 [].
class Adamw : public Optimizer {
 public:
  Adamw(const AdamwOptions& options, std::string arguments, std::vector<ParameterGroup> groups);

  void step() override;
  NamedTensors state() const override;
  void load_state(const NamedTensors& state) override;

 private:
  struct Moments {
    at::Tensor step, mean, square, max_square;  // undefined until the first gradient
  };
  static const at::Tensor* find(const Moments& moments, std::string_view what);
  Moments& moments_of(std::size_t index, const at::Tensor& parameter);

  AdamwOptions options_;
  std::vector<Moments> moments_;  // by position in parameters()
};

}  // namespace lathe::train
