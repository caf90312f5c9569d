#include "core/models/adapters/lora.h"
#include "core/models/adapters/name_patterns.h"

// Parameters by learning rate (spec 3.6).
namespace lathe::models {

namespace {

// Parameters of one rate: those of lora_up apart where LoRA+ gives them their own.
struct RateGroup {
  std::string name;  // after the family's: "", " reg_lr_0"
  double rate = 0.0;
  std::vector<at::Tensor> normal, plus;

  void add(const LoraModule& module, bool has_plus) {
    normal.push_back(module.down);
    (has_plus ? plus : normal).push_back(module.up);
  }
};

void append(const RateGroup& group, const std::string& family, double ratio, std::vector<LoraGroup>& groups) {
  // A rate of 0 leaves the parameters out of the optimizer.
  const auto add = [&](const std::string& name, double rate, const std::vector<at::Tensor>& parameters) {
    if (!parameters.empty() && rate != 0.0) groups.push_back({name, rate, parameters});
  };
  add(family + group.name, group.rate, group.normal);
  add(family + group.name + " plus", group.rate * ratio, group.plus);
}

}  // namespace

std::vector<LoraGroup> LoraNetwork::groups(double learning_rate) const {
  const bool is_text_encoder = prefix_ == "lora_te";
  const std::optional<double> own =
      is_text_encoder ? options_.loraplus_text_encoder_lr_ratio : options_.loraplus_unet_lr_ratio;
  // As the reference's `own or common`: a ratio of 0 counts as unset there.
  const std::optional<double> ratio = own && *own != 0.0 ? own : options_.loraplus_lr_ratio;

  const NamePatterns patterns(options_.lr_by_pattern);
  std::vector<RateGroup> by_pattern;  // in the order of first appearance
  RateGroup plain{.rate = learning_rate};
  for (const LoraModule& module : modules_) {
    const std::optional<std::size_t> match = patterns.first_match(module.original_name);
    if (!match) {
      plain.add(module, ratio.has_value());
      continue;
    }
    const std::string name = " reg_lr_" + std::to_string(*match);
    RateGroup* group = nullptr;
    for (RateGroup& known : by_pattern) {
      if (known.name == name) group = &known;
    }
    if (group == nullptr) {
      group = &by_pattern.emplace_back(RateGroup{.name = name, .rate = options_.lr_by_pattern[*match].second});
    }
    group->add(module, ratio.has_value());
  }

  const std::string family = is_text_encoder ? "textencoder 1" : "unet";
  std::vector<LoraGroup> groups;
  for (const RateGroup& group : by_pattern) append(group, family, ratio.value_or(1.0), groups);
  append(plain, family, ratio.value_or(1.0), groups);
  return groups;
}

}  // namespace lathe::models
