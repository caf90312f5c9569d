#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/common/tensor_file.h"

namespace lathe::train {

// Parameters that share a learning rate; the schedule writes `learning_rate` between steps.
struct ParameterGroup {
  std::string name;  // "unet", "unet plus" …
  double initial_learning_rate = 0.0;
  double learning_rate = 0.0;
  std::vector<at::Tensor> parameters;
};

using models::NamedTensors;

// Changes parameters by their gradients (spec 4.7).
class Optimizer {
 public:
  // `arguments` as the reference writes them: "" or "weight_decay=0.1,betas=(0.9, 0.99)".
  Optimizer(std::string class_name, std::string arguments, std::vector<ParameterGroup> groups);
  virtual ~Optimizer() = default;

  // One update of every parameter that has a gradient, in place, under NoGrad.
  virtual void step() = 0;
  // Sets the gradients to undefined (the reference's set_to_none).
  void zero_grad();

  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  std::vector<at::Tensor> parameters() const;  // of all groups, in order

  // State for a checkpoint, named "<parameter index>.<what>". The tensors are the optimizer's own: copy before a step.
  virtual NamedTensors state() const = 0;
  // Takes over what state() gave. Error(checkpoint) for names or shapes that do not fit.
  virtual void load_state(const NamedTensors& state) = 0;

  // "torch.optim.adamw.AdamW(weight_decay=0.1)": ss_optimizer of the adapter's metadata.
  std::string metadata_name() const;

 protected:
  std::vector<ParameterGroup> groups_;

 private:
  std::string class_name_, arguments_;
};

}  // namespace lathe::train
