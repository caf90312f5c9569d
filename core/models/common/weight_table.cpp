#include "core/models/common/weight_table.h"

#include "core/base/format.h"

namespace lathe::models {

void WeightTable::add(std::string name, Linear& linear, std::int64_t out, std::int64_t in, bool bias) {
  entries_.push_back({.name = std::move(name), .linear = &linear, .shape = {out, in}, .bias = bias});
}

void WeightTable::add(std::string name, at::Tensor& tensor, std::vector<std::int64_t> shape) {
  entries_.push_back({.name = std::move(name), .tensor = &tensor, .shape = std::move(shape)});
}

void WeightTable::load(StateDict& weights, const std::string& prefix, at::ScalarType dtype, at::Device device) const {
  for (const Entry& entry : entries_) {
    const std::string key = prefix + entry.name;
    if (entry.tensor != nullptr) {
      *entry.tensor = weights.take(key, entry.shape, dtype, device);
      continue;
    }
    entry.linear->weight = weights.take(key + ".weight", entry.shape, dtype, device);
    if (entry.bias) entry.linear->bias = weights.take(key + ".bias", {entry.shape[0]}, dtype, device);
  }
}

void WeightTable::append_state(const std::string& prefix, NamedTensors& state) const {
  for (const Entry& entry : entries_) {
    const std::string key = prefix + entry.name;
    if (entry.tensor != nullptr) {
      state.emplace_back(key, *entry.tensor);
      continue;
    }
    state.emplace_back(key + ".weight", entry.linear->weight);
    if (entry.bias) state.emplace_back(key + ".bias", entry.linear->bias);
  }
}

void WeightTable::append_linears(const std::string& prefix, const std::string& parent_class,
                                 std::vector<NamedLinear>& linears) const {
  for (const Entry& entry : entries_) {
    if (entry.linear != nullptr) linears.push_back({prefix + entry.name, parent_class, entry.linear});
  }
}

void WeightTable::append_shapes(const std::string& prefix,
                                std::vector<std::pair<std::string, std::vector<std::int64_t>>>& shapes) const {
  for (const Entry& entry : entries_) {
    const std::string key = prefix + entry.name;
    shapes.emplace_back(entry.tensor != nullptr ? key : key + ".weight", entry.shape);
    if (entry.bias) shapes.emplace_back(key + ".bias", std::vector<std::int64_t>{entry.shape[0]});
  }
}

std::vector<at::Tensor> WeightTable::parameters() const {
  std::vector<at::Tensor> all;
  for (const Entry& entry : entries_) {
    if (entry.tensor != nullptr) {
      all.push_back(*entry.tensor);
    } else {
      entry.linear->collect(all);
    }
  }
  return all;
}

std::string WeightTable::adapters() const {
  std::string text;
  for (const Entry& entry : entries_) {
    if (entry.linear == nullptr || !entry.linear->adapter) continue;
    text += format(" {}[{}]", entry.name, entry.linear->adapter->structure());
  }
  return text;
}

}  // namespace lathe::models
