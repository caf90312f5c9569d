#include <map>
#include <set>

#include <ATen/core/grad_mode.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/models/adapters/lora.h"
#include "core/models/adapters/lora_names.h"
#include "core/models/common/state_dict.h"

// Adapters from files (spec 3.7).
namespace lathe::models {

namespace {

std::string as_it_is(const std::string& key) {
  return key;
}

// What a file says of one module.
struct FileModule {
  at::Tensor down, up, alpha;
};

struct LoraFile {
  std::map<std::string, FileModule> modules;  // by lora_name
  bool has_llm_adapter = false;
};

LoraFile read_lora_file(const std::filesystem::path& path) {
  StateDict weights = StateDict::load(path, as_it_is);
  LoraFile file;
  for (const std::string& key : weights.keys()) {
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos) continue;
    FileModule& module = file.modules[key.substr(0, dot)];
    const std::string part = key.substr(dot + 1);
    const std::vector<std::int64_t> shape = weights.shape(key);
    const auto read = [&] { return weights.take(key, shape, at::kFloat, at::kCPU); };
    if (part == "alpha") module.alpha = read();
    if (part == "lora_down.weight") module.down = read();
    if (part == "lora_up.weight") module.up = read();
    file.has_llm_adapter |= key.find("llm_adapter") < dot;
  }
  return file;
}

double alpha_of(const FileModule& module, const std::string& name, const std::filesystem::path& path) {
  if (!module.alpha.defined() || module.alpha.numel() != 1) {
    throw Error(ErrorKind::checkpoint, format("{}: '{}' has no alpha", path, name));
  }
  return module.alpha.item<double>();
}

// fp32(W) + multiplier · (up·down) · scale
at::Tensor merged(const at::Tensor& weight, const FileModule& module, double scale, double multiplier) {
  const at::Tensor product = module.up.to(weight.device()).mm(module.down.to(weight.device()));
  return (weight.to(at::kFloat) + (product * multiplier) * scale).to(weight.scalar_type());
}

}  // namespace

std::unique_ptr<LoraNetwork> LoraNetwork::from_weights(std::vector<NamedLinear> linears, const std::string& prefix,
                                                       const std::filesystem::path& path) {
  const LoraFile file = read_lora_file(path);
  std::vector<Target> targets;
  for (NamedLinear& linear : linears) {
    if (!is_lora_target(linear, file.has_llm_adapter)) continue;
    std::string name = lora_name(prefix, linear.name);
    const auto found = file.modules.find(name);
    if (found == file.modules.end() || !found->second.down.defined()) continue;
    const double alpha = alpha_of(found->second, name, path);
    targets.push_back({std::move(linear), std::move(name), found->second.down.size(0), alpha});
  }
  LoraOptions options;
  options.train_llm_adapter = file.has_llm_adapter;
  return std::unique_ptr<LoraNetwork>(new LoraNetwork(prefix, options, targets));
}

std::vector<std::string> LoraNetwork::load(const std::filesystem::path& path) {
  const at::NoGradGuard no_grad;
  StateDict weights = StateDict::load(path, as_it_is);
  std::vector<std::string> notes;
  std::set<std::string> known;
  for (const auto& [key, tensor] : state()) {
    known.insert(key);
    if (!weights.has(key)) {
      notes.push_back(format("missing: {}", key));
      continue;
    }
    const std::vector<std::int64_t> shape = weights.shape(key);
    const bool old_scalar = tensor.dim() == 0 && shape == std::vector<std::int64_t>{1};
    if (shape != tensor.sizes().vec() && !old_scalar) {
      throw Error(ErrorKind::checkpoint,
                  format("{}: '{}' has shape {}, expected {}", path, key, shape, tensor.sizes().vec()));
    }
    tensor.copy_(weights.take(key, shape, tensor.scalar_type(), at::kCPU).view_as(tensor));
  }
  for (LoraModule& module : modules_) module.alpha = module.alpha_tensor.to(at::kDouble).item<double>();
  for (const std::string& key : weights.keys()) {
    if (known.count(key) == 0) notes.push_back(format("unexpected: {}", key));
  }
  return notes;
}

std::vector<std::string> merge_lora(const std::vector<NamedLinear>& linears, const std::string& prefix,
                                    const std::filesystem::path& path, double multiplier) {
  const at::NoGradGuard no_grad;
  LoraFile file = read_lora_file(path);
  for (const NamedLinear& linear : linears) {
    if (!is_lora_target(linear, file.has_llm_adapter)) continue;
    const std::string name = lora_name(prefix, linear.name);
    const auto found = file.modules.find(name);
    if (found == file.modules.end() || !found->second.down.defined() || !found->second.up.defined()) continue;
    const FileModule& module = found->second;
    const std::vector<std::int64_t> shape = {module.up.size(0), module.down.size(-1)};
    if (shape != linear.linear->weight.sizes().vec() || module.up.size(1) != module.down.size(0)) {
      throw Error(ErrorKind::checkpoint, format("{}: '{}' is for a weight of shape {}, the model's has {}", path, name,
                                                shape, linear.linear->weight.sizes().vec()));
    }
    const double scale = alpha_of(module, name, path) / static_cast<double>(module.down.size(0));
    linear.linear->weight = merged(linear.linear->weight, module, scale, multiplier);
    file.modules.erase(found);
  }
  std::vector<std::string> unused;
  for (const auto& [name, module] : file.modules) unused.push_back(name);
  return unused;
}

}  // namespace lathe::models
