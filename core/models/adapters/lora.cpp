#include "core/models/adapters/lora.h"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include "core/models/adapters/lora_adapter.h"
#include "core/models/adapters/lora_names.h"
#include "core/models/adapters/name_patterns.h"

namespace lathe::models {

namespace {

constexpr const char* kAlwaysExcluded = ".*(_modulation|_norm|_embedder|final_layer).*";

// Kaiming-uniform with a = √5, which is U(−1/√in, 1/√in); the bound is computed as PyTorch does, to the last bit.
at::Tensor drawn(std::int64_t out, std::int64_t in) {
  const double gain = std::sqrt(2.0 / (1.0 + 5.0));
  const double bound = std::sqrt(3.0) * (gain / std::sqrt(static_cast<double>(in)));
  return at::empty({out, in}, at::kFloat).uniform_(-bound, bound);
}

at::Tensor leaf(const at::Tensor& tensor) {
  return tensor.detach().set_requires_grad(true);
}

}  // namespace

// Which Linears get a module, and of which rank (spec 3.1, 3.3).
std::vector<LoraNetwork::Target> LoraNetwork::select(std::vector<NamedLinear> linears, const std::string& prefix,
                                                     const LoraOptions& options) {
  std::vector<std::string> excluded = options.exclude_patterns;
  excluded.push_back(kAlwaysExcluded);
  const NamePatterns exclude(excluded), include(options.include_patterns), ranks(options.rank_by_pattern);

  std::vector<Target> targets;
  for (NamedLinear& linear : linears) {
    if (!is_lora_target(linear, options.train_llm_adapter)) continue;
    if (exclude.any_matches(linear.name) && !include.any_matches(linear.name)) continue;
    const auto by_pattern = ranks.first_match(linear.name);
    const std::int64_t rank = by_pattern ? options.rank_by_pattern[*by_pattern].second : options.rank;
    if (rank == 0) continue;
    std::string name = lora_name(prefix, linear.name);
    targets.push_back({std::move(linear), std::move(name), rank, std::nullopt});
  }
  return targets;
}

LoraNetwork::LoraNetwork(std::vector<NamedLinear> linears, const std::string& prefix, const LoraOptions& options)
    : LoraNetwork(prefix, options, select(std::move(linears), prefix, options)) {}

LoraNetwork::LoraNetwork(const std::string& prefix, const LoraOptions& options, const std::vector<Target>& targets)
    : prefix_(prefix),
      options_(options),
      behaviour_(std::make_shared<LoraBehaviour>(LoraBehaviour{.dropout = options.dropout,
                                                               .rank_dropout = options.rank_dropout,
                                                               .module_dropout = options.module_dropout})) {
  for (const Target& target : targets) add(target);
}

LoraNetwork::~LoraNetwork() {
  for (std::size_t i = 0; i < linears_.size(); ++i) {
    if (linears_[i]->adapter == adapters_[i]) linears_[i]->adapter.reset();
  }
}

void LoraNetwork::add(const Target& target) {
  LoraModule module{.lora_name = target.lora_name, .original_name = target.linear.name, .rank = target.rank};
  // What the reference makes a tensor of is a Python integer where alpha falls back to the rank or is the untouched
  // default; everything else, a file's alpha included, is a float.
  const bool falls_back = !target.alpha && options_.alpha == 0.0;
  const bool integer = !target.alpha && (falls_back || options_.alpha_is_integer);
  module.alpha = falls_back ? static_cast<double>(target.rank) : target.alpha.value_or(options_.alpha);
  module.scale = module.alpha / static_cast<double>(target.rank);
  module.alpha_tensor = integer ? at::scalar_tensor(static_cast<std::int64_t>(module.alpha), at::kLong)
                                : at::scalar_tensor(module.alpha, at::kFloat);

  // Two Linears are made, each drawing its own start, before down is drawn again and up is zeroed: the order of draws
  // decides what a seed gives.
  const std::int64_t out = target.linear.linear->weight.size(0), in = target.linear.linear->weight.size(1);
  drawn(target.rank, in);
  drawn(out, target.rank);
  module.down = leaf(drawn(target.rank, in));
  module.up = leaf(at::zeros({out, target.rank}, at::kFloat));

  auto adapter = std::make_shared<LoraAdapter>(module.scale, behaviour_);
  adapter->down = module.down;
  adapter->up = module.up;
  target.linear.linear->adapter = adapter;
  linears_.push_back(target.linear.linear);
  adapters_.push_back(std::move(adapter));
  modules_.push_back(std::move(module));
}

std::vector<at::Tensor> LoraNetwork::parameters() const {
  std::vector<at::Tensor> all;
  for (const LoraModule& module : modules_) {
    all.push_back(module.down);
    all.push_back(module.up);
  }
  return all;
}

std::vector<std::pair<std::string, at::Tensor>> LoraNetwork::state() const {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for (const LoraModule& module : modules_) {
    all.emplace_back(module.lora_name + ".alpha", module.alpha_tensor);
    all.emplace_back(module.lora_name + ".lora_down.weight", module.down);
    all.emplace_back(module.lora_name + ".lora_up.weight", module.up);
  }
  return all;
}

void LoraNetwork::set_training(bool training) {
  behaviour_->training = training;
}

void LoraNetwork::set_multiplier(double multiplier) {
  behaviour_->multiplier = multiplier;
}

void LoraNetwork::replace_tensors(const std::function<at::Tensor(const at::Tensor&)>& make) {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    LoraModule& module = modules_[i];
    module.alpha_tensor = make(module.alpha_tensor);
    adapters_[i]->down = module.down = leaf(make(module.down));
    adapters_[i]->up = module.up = leaf(make(module.up));
  }
}

void LoraNetwork::to(at::ScalarType dtype) {
  // An integer alpha stays what it is.
  replace_tensors([&](const at::Tensor& tensor) { return tensor.is_floating_point() ? tensor.to(dtype) : tensor; });
}

void LoraNetwork::to(at::Device device) {
  replace_tensors([&](const at::Tensor& tensor) { return tensor.to(device); });
}

}  // namespace lathe::models
