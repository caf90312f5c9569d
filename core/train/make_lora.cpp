#include "core/train/make_lora.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/models/adapters/lora_options.h"

namespace lathe::train {

namespace {

constexpr TextId kLoadNote = LATHE_TEXT("lora.load_note", "network_weights: {}");
constexpr const char* kPrefix = "lora_unet";

}  // namespace

std::unique_ptr<models::LoraNetwork> make_lora(const RunContext& context, models::anima::Dit& dit) {
  const config::Settings& settings = context.settings();
  const std::filesystem::path weights = from_utf8(settings.text("network_weights"));
  std::unique_ptr<models::LoraNetwork> network;
  if (!weights.empty() && settings.flag("dim_from_weights")) {
    network = models::LoraNetwork::from_weights(dit.linears(), kPrefix, weights);
  } else {
    network = std::make_unique<models::LoraNetwork>(dit.linears(), kPrefix, models::lora_options(settings));
  }
  if (!weights.empty()) {
    for (const std::string& line : network->load(weights)) {
      context.note(message(kLoadNote, line), "keys of network_weights that do not fit");
    }
  }
  if (network->modules().empty()) {
    throw Error(ErrorKind::settings,
                "network_args leave no module to train: check exclude_patterns and network_reg_dims");
  }
  return network;
}

}  // namespace lathe::train
