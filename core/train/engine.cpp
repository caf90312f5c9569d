#include "core/train/engine.h"

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/models/anima/tiny.h"
#include "core/models/qwen3/tiny.h"
#include "core/models/vae/tiny.h"
#include "core/train/caching.h"
#include "core/train/make_lora.h"
#include "core/train/precision.h"
#include "core/train/random_state.h"
#include "core/train/sample_prompts.h"
#include "core/train/trainer.h"

namespace lathe::train {

namespace {

constexpr std::int64_t kTinyTextWidth = 64;
constexpr std::uint64_t kTinySeed = 7;

class Engine : public run::Backend {
 public:
  int card_count() override { return device_count(); }

  run::EndStatus train(const run::Job& job, run::EventSink& events, run::Control& control) override {
    const RunContext context(job, events, control);
    return Trainer(context).run();
  }

  void cache(const run::Job& job, run::EventSink& events, run::Control& control) override;
  void sample(const run::Job& job, run::EventSink& events, run::Control& control) override;
  void write_tiny_models(const std::filesystem::path& folder) override;
};

void Engine::cache(const run::Job& job, run::EventSink& events, run::Control& control) {
  const RunContext context(job, events, control);
  PythonRandom random(static_cast<std::uint64_t>(job.settings.maybe_integer("seed").value_or(0)));
  config::Findings findings;
  const dataset::Manifest manifest = dataset::build_manifest(job.data, job.settings, random, findings);
  if (!job.settings.flag("cache_latents_to_disk") && !job.settings.flag("cache_text_encoder_outputs_to_disk")) {
    throw Error(ErrorKind::settings,
                "nothing is cached to disk: set cache_latents_to_disk, cache_text_encoder_outputs_to_disk, or both");
  }
  apply_matmul_settings(context);
  Caches caches = make_caches(job.settings);
  const Tokenizers tokenizers = load_tokenizers(job.settings);
  fill_caches(context, manifest, caches, tokenizers, chosen_device(job.settings));
}

void Engine::sample(const run::Job& job, run::EventSink& events, run::Control& control) {
  const RunContext context(job, events, control);
  const config::Settings& settings = job.settings;
  if (settings.text("sample_prompts").empty())
    throw Error(ErrorKind::settings, "sample_prompts is not set: name a prompt file");
  apply_matmul_settings(context);
  const at::Device device = chosen_device(settings);
  const at::ScalarType dtype = base_dtype(settings.text("mixed_precision"));
  if (const auto seed = settings.maybe_integer("seed")) seed_everything(static_cast<std::uint64_t>(*seed));

  const Tokenizers tokenizers = load_tokenizers(settings);
  std::vector<PreviewPrompt> prompts;
  {
    const auto encoder = load_qwen3(context, device);
    prompts = encode_sample_prompts(context, *encoder, tokenizers, dtype, device);
  }
  const auto dit = load_dit(context, device);
  const auto vae = load_vae(context, device);
  std::unique_ptr<models::LoraNetwork> network;
  if (!settings.text("network_weights").empty()) {
    network = make_lora(context, *dit);
    network->to(device);
    network->set_training(false);
  }
  draw_samples(context, {dit.get(), vae.get(), models::run_eagerly}, prompts, 0, std::nullopt);
}

void Engine::write_tiny_models(const std::filesystem::path& folder) {
  models::qwen3::write_tiny(folder / "qwen3.safetensors", models::qwen3::tiny_sizes(kTinyTextWidth));
  models::vae::write_tiny(folder / "vae.safetensors");
  models::anima::write_random_dit(folder / "dit.safetensors", models::anima::tiny_sizes(kTinyTextWidth), kTinySeed);
}

}  // namespace

std::unique_ptr<run::Backend> make_engine() {
  return std::make_unique<Engine>();
}

}  // namespace lathe::train
