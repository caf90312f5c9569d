#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/common/linear.h"

namespace lathe::models {

class LoraAdapter;
struct LoraBehaviour;

// network_args of the reference's networks.lora_anima, parsed.
struct LoraOptions {
  std::int64_t rank = 4;
  double alpha = 1.0;            // 0: alpha = rank
  bool alpha_is_integer = true;  // the untouched default is stored as int64
  double dropout = 0.0, rank_dropout = 0.0, module_dropout = 0.0;
  bool train_llm_adapter = false;
  std::vector<std::string> exclude_patterns, include_patterns;        // Python regular expressions, full match
  std::vector<std::pair<std::string, std::int64_t>> rank_by_pattern;  // network_reg_dims
  std::vector<std::pair<std::string, double>> lr_by_pattern;          // network_reg_lrs
  std::optional<double> loraplus_lr_ratio, loraplus_unet_lr_ratio, loraplus_text_encoder_lr_ratio;
};

struct LoraModule {
  std::string lora_name;      // lora_unet_blocks_0_self_attn_q_proj
  std::string original_name;  // blocks.0.self_attn.q_proj
  std::int64_t rank = 0;
  double alpha = 0.0, scale = 0.0;
  at::Tensor alpha_tensor;  // [] as written to files
  at::Tensor down;          // [rank, in]
  at::Tensor up;            // [out, rank]
};

// Parameters that share a learning rate (spec 3.6): "unet", "unet plus", "unet reg_lr_0" …
struct LoraGroup {
  std::string description;
  double learning_rate = 0.0;
  std::vector<at::Tensor> parameters;
};

class LoraNetwork {
 public:
  // Creates modules for the Linears that the options select and attaches them. down: U(±1/√in), up: zeros, drawn from
  // torch's CPU generator in the reference's order. `prefix` is lora_unet or lora_te. Patterns that are no regular
  // expressions are logged and ignored, as there. The Linears must outlive the network.
  LoraNetwork(std::vector<NamedLinear> linears, const std::string& prefix, const LoraOptions& options);
  // The modules that a file holds, with its ranks and alphas (dim_from_weights); load() then fills them. Patterns do
  // not apply. Error(checkpoint) names a module without alpha.
  static std::unique_ptr<LoraNetwork> from_weights(std::vector<NamedLinear> linears, const std::string& prefix,
                                                   const std::filesystem::path& path);
  ~LoraNetwork();  // detaches
  LoraNetwork(const LoraNetwork&) = delete;
  LoraNetwork& operator=(const LoraNetwork&) = delete;

  const std::vector<LoraModule>& modules() const { return modules_; }
  std::vector<at::Tensor> parameters() const;  // down, up of each module, in order
  std::vector<LoraGroup> groups(double learning_rate) const;
  // File keys with their tensors, in state order: alpha, lora_down.weight, lora_up.weight of each module.
  std::vector<std::pair<std::string, at::Tensor>> state() const;
  // Loads weights by file key. Shape mismatches throw; missing and extra keys are returned as text lines. A loaded
  // alpha is kept and written again but does not change the scale, as in the reference (spec 3.7).
  std::vector<std::string> load(const std::filesystem::path& path);
  void set_training(bool training);        // dropouts act only while training, as after construction
  void set_multiplier(double multiplier);  // strength when sampling; 1 after construction
  void to(at::ScalarType dtype);           // full_fp16, full_bf16
  void to(at::Device device);

  // scale_weight_norms (spec 3.8): limits ‖up·down·scale‖ to `limit`, in place.
  struct NormReport {
    std::int64_t scaled = 0;
    double mean = 0.0, maximum = 0.0;
  };
  NormReport limit_norms(double limit);

 private:
  // One Linear to adapt. No alpha: that of the options.
  struct Target {
    NamedLinear linear;
    std::string lora_name;
    std::int64_t rank = 0;
    std::optional<double> alpha;
  };
  LoraNetwork(const std::string& prefix, const LoraOptions& options, const std::vector<Target>& targets);
  static std::vector<Target> select(std::vector<NamedLinear> linears, const std::string& prefix,
                                    const LoraOptions& options);
  void add(const Target& target);
  // Gives every module new tensors and hands them to its adapter.
  void replace_tensors(const std::function<at::Tensor(const at::Tensor&)>& make);

  std::vector<LoraModule> modules_;
  std::vector<std::shared_ptr<LoraAdapter>> adapters_;  // one a module
  std::vector<Linear*> linears_;                        // what each is attached to
  std::string prefix_;
  LoraOptions options_;
  std::shared_ptr<LoraBehaviour> behaviour_;
};

// Adds multiplier · up·down·scale of a file's modules to the base weights for good (base_weights): computed in fp32 on
// the weight's device, rounded to its dtype. Returns the names in the file that no Linear answers to.
std::vector<std::string> merge_lora(const std::vector<NamedLinear>& linears, const std::string& prefix,
                                    const std::filesystem::path& path, double multiplier);

}  // namespace lathe::models
