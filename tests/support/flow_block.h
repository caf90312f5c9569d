#pragma once

#include <cstdint>
#include <vector>

#include "core/models/block.h"

namespace lathe::testing {

struct CouplingOptions {
  std::int64_t features = 6, context = 5, hidden = 16, bins = 4, residual_blocks = 2;
  bool masked = false;  // the spline works on the points inside its box alone, picked by a mask
  bool train = true;    // batch norm and dropout
  double dropout = 0.0;
};

// One step of a neural spline flow in plain ATen calls: permutation, LU-factored linear map, rational-quadratic spline
// coupling (Durkan et al. 2019, eqs. 4-6) whose parameters a residual net with batch norm computes from the kept half
// and the context. Inputs: x [B, features], context [B, context]. Outputs: y [B, features], log|det| [B].
class CouplingStep : public models::Block {
 public:
  explicit CouplingStep(const CouplingOptions& options);

  models::Tensors forward(std::span<const at::Tensor> inputs) const override;
  models::Tensors parameters() const override { return all_; }
  std::string structure() const override;
  std::vector<models::VaryingDimension> varying_dimensions() const override { return {{0, 0, "B"}, {1, 0, "B"}}; }

 private:
  struct Half {  // of a residual block
    at::Tensor scale, shift, mean, variance, count, weight, bias;
  };
  struct ResidualBlock {
    Half halves[2];
    at::Tensor gate_weight, gate_bias;
  };
  struct Knots {
    at::Tensor edges, widths;
  };
  struct Mapped {
    at::Tensor y, log_derivative;
  };

  at::Tensor trained(at::IntArrayRef shape, double scale);
  at::Tensor buffer(at::Tensor tensor);
  Half half();
  at::Tensor linear(const at::Tensor& x, at::Tensor& log_determinant) const;
  at::Tensor spline_parameters(const at::Tensor& kept, const at::Tensor& context) const;
  Knots knots(const at::Tensor& logits) const;
  Mapped spline(const at::Tensor& x, const at::Tensor& widths, const at::Tensor& heights,
                const at::Tensor& slopes) const;
  Mapped within_box(const at::Tensor& x, const at::Tensor& parameters) const;

  CouplingOptions options_;
  models::Tensors all_;
  at::Tensor order_, lower_at_, upper_at_, unit_, kept_, turned_;
  at::Tensor bias_, lower_, upper_, diagonal_;
  at::Tensor first_weight_, first_bias_, last_weight_, last_bias_;
  std::vector<ResidualBlock> blocks_;
};

}  // namespace lathe::testing
