#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/models/common/linear.h"

namespace lathe::models {

// What all modules of a network share.
struct LoraBehaviour {
  bool training = true;
  double multiplier = 1.0;
  double dropout = 0.0, rank_dropout = 0.0, module_dropout = 0.0;
};

// y = base(x) + up(drop(down(x))) · multiplier · scale (spec 3.5).
class LoraAdapter : public LinearAdapter {
 public:
  LoraAdapter(double scale, std::shared_ptr<const LoraBehaviour> behaviour)
      : scale_(scale), behaviour_(std::move(behaviour)) {}

  at::Tensor forward(const Linear& linear, const at::Tensor& x) const override;
  std::vector<at::Tensor> parameters() const override { return {down, up}; }
  // Scale and multiplier are part of it: they are numbers in the path, not tensors.
  std::string structure() const override;

  at::Tensor down, up;

 private:
  double scale_;
  std::shared_ptr<const LoraBehaviour> behaviour_;
};

}  // namespace lathe::models
