// What the reference changes by itself before it starts (training spec 7.5).
#include <string>

#include "core/config/schema.h"
#include "core/config/validate_steps.h"

namespace lathe::config {

namespace {

constexpr TextId kImplied = LATHE_TEXT("automatic.implied", "{} is on, because {} is");
constexpr TextId kFp8 =
    LATHE_TEXT("automatic.fp8", "{} is not supported for Anima, in the reference neither; it is off");
constexpr TextId kNoSamples = LATHE_TEXT("automatic.no_samples", "{} is {}; no samples are drawn at that interval");
constexpr TextId kOddChunk = LATHE_TEXT("automatic.odd_chunk", "vae_chunk_size {} is odd; raised to {}");
constexpr TextId kOtherName = LATHE_TEXT("automatic.other_name", "{} {} means {}");
constexpr TextId kBadSplit =
    LATHE_TEXT("automatic.bad_split", "validation_split is {}; outside 0 to 1 nothing is held back");
constexpr TextId kOldSpelling =
    LATHE_TEXT("automatic.old_spelling", "caption_extention is taken as caption_extension {}");
constexpr TextId kAdapterKind =
    LATHE_TEXT("automatic.adapter_kind", "network_module is networks.lora_anima, the one kind of adapter for Anima");

void imply(Settings& settings, Findings& findings, const std::string& cause, const std::string& implied) {
  if (!settings.flag(cause) || settings.flag(implied)) return;
  settings.set(implied, true, Source::automatic);
  findings.note({implied, cause}, message(kImplied, implied, cause));
}

void drop_intervals(Settings& settings, Findings& findings) {
  for (const std::string name : {"sample_every_n_steps", "sample_every_n_epochs"}) {
    const auto interval = settings.maybe_integer(name);
    if (!interval || *interval > 0) continue;
    settings.set(name, Value(), Source::automatic);
    findings.warning({name}, message(kNoSamples, name, *interval));
  }
}

void rename(Settings& settings, Findings& findings, const std::string& option, const std::string& from,
            const std::string& to) {
  if (settings.text(option) != from) return;
  settings.set(option, to, Source::automatic);
  findings.note({option}, message(kOtherName, option, from, to));
}

}  // namespace

void make_automatic_changes(Settings& settings, Findings& findings) {
  imply(settings, findings, "cache_latents_to_disk", "cache_latents");
  imply(settings, findings, "cache_text_encoder_outputs_to_disk", "cache_text_encoder_outputs");
  imply(settings, findings, "unsloth_offload_checkpointing", "gradient_checkpointing");
  for (const std::string name : {"fp8_base", "fp8_base_unet"}) {
    if (!settings.flag(name)) continue;
    settings.set(name, false, Source::automatic);
    findings.warning({name}, message(kFp8, name));
  }
  drop_intervals(settings, findings);
  if (const auto chunk = settings.maybe_integer("vae_chunk_size"); chunk && *chunk > 0 && *chunk % 2 != 0) {
    settings.set("vae_chunk_size", *chunk + 1, Source::automatic);
    findings.warning({"vae_chunk_size"}, message(kOddChunk, *chunk, *chunk + 1));
  }
  rename(settings, findings, "attn_mode", "sdpa", "torch");
  rename(settings, findings, "compile_backend", "inductor", "native");
  const double split = settings.real("validation_split");
  if (split < 0.0 || split > 1.0) {
    settings.set("validation_split", 0.0, Source::automatic);
    findings.warning({"validation_split"}, message(kBadSplit, split));
  }
  if (settings.is_set("caption_extention")) {
    const std::string extension = settings.text("caption_extention");
    settings.set("caption_extension", extension, Source::automatic);
    settings.set("caption_extention", Value(), Source::automatic);
    findings.note({"caption_extension"}, message(kOldSpelling, extension));
  }
  if (!settings.is_set("network_module")) {
    settings.set("network_module", std::string("networks.lora_anima"), Source::automatic);
    findings.note({"network_module"}, message(kAdapterKind));
  }
}

}  // namespace lathe::config
