#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/common/linear.h"
#include "core/models/common/state_dict.h"
#include "core/models/common/tensor_file.h"

namespace lathe::models {

// The weights of one module in registration order. This one list serves loading, state(), adapters, a block's
// parameters and its structure, so that they cannot disagree. It points into its module, which must not move.
class WeightTable {
 public:
  // A Linear [out, in]; keys are name.weight and, with a bias, name.bias.
  void add(std::string name, Linear& linear, std::int64_t out, std::int64_t in, bool bias = false);
  // Any other weight, by its whole key.
  void add(std::string name, at::Tensor& tensor, std::vector<std::int64_t> shape);

  void load(StateDict& weights, const std::string& prefix, at::ScalarType dtype, at::Device device) const;
  void append_state(const std::string& prefix, NamedTensors& state) const;
  void append_linears(const std::string& prefix, const std::string& parent_class,
                      std::vector<NamedLinear>& linears) const;
  // Keys with their shapes, whether loaded or not.
  void append_shapes(const std::string& prefix,
                     std::vector<std::pair<std::string, std::vector<std::int64_t>>>& shapes) const;

  // Base weights and adapter weights, as Block::parameters() wants them.
  std::vector<at::Tensor> parameters() const;
  // What adapters add to Block::structure(): "self_attn.q_proj{…} …".
  std::string adapters() const;

 private:
  struct Entry {
    std::string name;
    Linear* linear = nullptr;
    at::Tensor* tensor = nullptr;
    std::vector<std::int64_t> shape;  // of the weight
    bool bias = false;
  };
  std::vector<Entry> entries_;
};

// A module's table within a model: the keys' prefix, and the class that adapters look for.
struct WeightSection {
  std::string prefix;  // "blocks.0."
  std::string parent_class;
  const WeightTable* table = nullptr;
};

}  // namespace lathe::models
