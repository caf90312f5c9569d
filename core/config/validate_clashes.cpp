// Combinations that the reference rejects (training spec 7.4) or warns of (7.5).
#include <string>
#include <vector>

#include "core/config/fixes.h"
#include "core/config/validate_steps.h"

namespace lathe::config {

namespace {

// A combination of options: what it marks, why, and what resolves it.
struct Clash {
  Severity severity;
  std::vector<std::string> fields;
  TextId text;
  bool (*holds)(const Settings&);
  std::vector<Fix> fixes;
};

void report(const std::vector<Clash>& clashes, const Settings& settings, Findings& findings) {
  for (const Clash& clash : clashes) {
    if (!clash.holds(settings)) continue;
    findings.add({clash.severity, clash.fields, message(clash.text), clash.fixes, {}, 0, 0});
  }
}

bool is_on(const Settings& s, std::string_view number) {
  return s.maybe_real(number).value_or(0.0) != 0.0;
}

bool swaps(const Settings& s) {
  return s.maybe_integer("blocks_to_swap").value_or(0) > 0;
}

std::vector<Clash> loss_and_noise() {
  return {
      {Severity::error,
       {"adaptive_noise_scale", "noise_offset"},
       LATHE_TEXT("clash.adaptive_noise", "adaptive_noise_scale needs noise_offset"),
       [](const Settings& s) { return s.is_set("adaptive_noise_scale") && !s.is_set("noise_offset"); },
       {leave_out("adaptive_noise_scale")}},
      {Severity::error,
       {"scale_v_pred_loss_like_noise_pred", "v_parameterization"},
       LATHE_TEXT("clash.scale_v_pred", "scale_v_pred_loss_like_noise_pred needs v_parameterization"),
       [](const Settings& s) { return s.flag("scale_v_pred_loss_like_noise_pred") && !s.flag("v_parameterization"); },
       {turn_off("scale_v_pred_loss_like_noise_pred")}},
      {Severity::error,
       {"v_pred_like_loss", "v_parameterization"},
       LATHE_TEXT("clash.v_pred_like", "v_pred_like_loss cannot be used together with v_parameterization"),
       [](const Settings& s) { return is_on(s, "v_pred_like_loss") && s.flag("v_parameterization"); },
       {leave_out("v_pred_like_loss")}},
      {Severity::error,
       {"huber_schedule", "loss_type"},
       LATHE_TEXT("clash.huber",
                  "loss_type huber and smooth_l1 need huber_schedule constant or exponential: snr, the "
                  "default, does not exist for Anima"),
       [](const Settings& s) {
         const std::string loss = s.text("loss_type");
         return (loss == "huber" || loss == "smooth_l1") && s.text("huber_schedule") == "snr";
       },
       {set_to("huber_schedule", "constant"), set_to("loss_type", "l2")}},
      {Severity::warning,
       {"zero_terminal_snr", "v_parameterization"},
       LATHE_TEXT("clash.zero_snr", "zero_terminal_snr is meant for models with v_parameterization"),
       [](const Settings& s) { return s.flag("zero_terminal_snr") && !s.flag("v_parameterization"); },
       {turn_off("zero_terminal_snr")}},
      {Severity::warning,
       {"v2", "clip_skip"},
       LATHE_TEXT("clash.v2_clip_skip", "clip_skip is unusual together with v2"),
       [](const Settings& s) { return s.flag("v2") && s.is_set("clip_skip"); },
       {leave_out("clip_skip")}},
  };
}

std::vector<Clash> precision_and_memory() {
  return {
      {Severity::error,
       {"full_fp16", "mixed_precision"},
       LATHE_TEXT("clash.full_fp16", "full_fp16 needs mixed_precision fp16"),
       [](const Settings& s) { return s.flag("full_fp16") && s.text("mixed_precision") != "fp16"; },
       {set_to("mixed_precision", "fp16"), turn_off("full_fp16")}},
      {Severity::error,
       {"full_bf16", "mixed_precision"},
       LATHE_TEXT("clash.full_bf16", "full_bf16 needs mixed_precision bf16"),
       [](const Settings& s) { return s.flag("full_bf16") && s.text("mixed_precision") != "bf16"; },
       {set_to("mixed_precision", "bf16"), turn_off("full_bf16")}},
      {Severity::error,
       {"blocks_to_swap", "cpu_offload_checkpointing"},
       LATHE_TEXT("clash.swap_cpu_offload", "blocks_to_swap cannot be used together with cpu_offload_checkpointing"),
       [](const Settings& s) { return swaps(s) && s.flag("cpu_offload_checkpointing"); },
       {leave_out("blocks_to_swap"), turn_off("cpu_offload_checkpointing")}},
      {Severity::error,
       {"blocks_to_swap", "unsloth_offload_checkpointing"},
       LATHE_TEXT("clash.swap_unsloth", "blocks_to_swap cannot be used together with unsloth_offload_checkpointing"),
       [](const Settings& s) { return swaps(s) && s.flag("unsloth_offload_checkpointing"); },
       {leave_out("blocks_to_swap"), turn_off("unsloth_offload_checkpointing")}},
      {Severity::error,
       {"unsloth_offload_checkpointing", "cpu_offload_checkpointing"},
       LATHE_TEXT("clash.two_offloads",
                  "unsloth_offload_checkpointing cannot be used together with cpu_offload_checkpointing"),
       [](const Settings& s) { return s.flag("unsloth_offload_checkpointing") && s.flag("cpu_offload_checkpointing"); },
       {turn_off("cpu_offload_checkpointing"), turn_off("unsloth_offload_checkpointing")}},
  };
}

std::vector<Clash> caching_and_run() {
  return {
      {Severity::error,
       {"cache_text_encoder_outputs", "network_train_unet_only"},
       LATHE_TEXT("clash.cached_text",
                  "cached text cannot train the text encoder: cache_text_encoder_outputs needs "
                  "network_train_unet_only"),
       [](const Settings& s) { return s.flag("cache_text_encoder_outputs") && !s.flag("network_train_unet_only"); },
       {turn_on("network_train_unet_only")}},
      // Without it the reference also trains an adapter of the text encoder.
      {Severity::error,
       {"network_train_unet_only"},
       LATHE_TEXT("clash.text_encoder",
                  "without network_train_unet_only the text encoder would be trained too, which "
                  "is not in this version yet: set network_train_unet_only"),
       [](const Settings& s) {
         return !s.flag("cache_text_encoder_outputs") && !s.flag("network_train_unet_only") &&
                !s.flag("network_train_text_encoder_only");
       },
       {turn_on("network_train_unet_only")}},
      {Severity::error,
       {"network_train_unet_only", "network_train_text_encoder_only"},
       LATHE_TEXT("clash.nothing_trained",
                  "network_train_unet_only and network_train_text_encoder_only together leave nothing to train"),
       [](const Settings& s) { return s.flag("network_train_unet_only") && s.flag("network_train_text_encoder_only"); },
       {turn_off("network_train_text_encoder_only")}},
      {Severity::error,
       {"train_inpainting", "cache_latents"},
       LATHE_TEXT("clash.inpainting", "train_inpainting cannot be used together with cache_latents"),
       [](const Settings& s) { return s.flag("train_inpainting") && s.flag("cache_latents"); },
       {turn_off("train_inpainting")}},
      {Severity::error,
       {"initial_step", "max_train_steps"},
       LATHE_TEXT("clash.initial_step", "initial_step must be below max_train_steps"),
       [](const Settings& s) {
         return !s.is_set("max_train_epochs") &&
                s.maybe_integer("initial_step").value_or(0) >= s.integer("max_train_steps");
       },
       {leave_out("initial_step")}},
      {Severity::warning,
       {"resume", "initial_step", "initial_epoch"},
       LATHE_TEXT("clash.resume_step", "initial_step and initial_epoch win over the step of the state in resume"),
       [](const Settings& s) { return s.is_set("resume") && (s.is_set("initial_step") || s.is_set("initial_epoch")); },
       {}},
      {Severity::warning,
       {"skip_until_initial_step", "resume"},
       LATHE_TEXT("clash.skip_steps",
                  "skip_until_initial_step without resume: the learning rate starts from its first "
                  "step"),
       [](const Settings& s) { return s.flag("skip_until_initial_step") && !s.is_set("resume"); },
       {}},
      {Severity::error,
       {"log_with", "logging_dir"},
       LATHE_TEXT("clash.log_with",
                  "log_with needs logging_dir; without both, event files go into the record of the "
                  "run"),
       [](const Settings& s) {
         return (s.text("log_with") == "tensorboard" || s.text("log_with") == "all") && s.text("logging_dir").empty();
       },
       {leave_out("log_with")}},
      {Severity::error,
       {"sample_at_first", "sample_prompts"},
       LATHE_TEXT("clash.sample_at_first", "sample_at_first needs sample_prompts"),
       [](const Settings& s) { return s.flag("sample_at_first") && s.text("sample_prompts").empty(); },
       {turn_off("sample_at_first")}},
      {Severity::warning,
       {"sample_prompts"},
       LATHE_TEXT("clash.no_prompts", "no samples are drawn: sample_prompts is not given"),
       [](const Settings& s) {
         const bool wanted = s.is_set("sample_every_n_steps") || s.is_set("sample_every_n_epochs");
         return wanted && !s.flag("sample_at_first") && s.text("sample_prompts").empty();
       },
       {}},
      {Severity::warning,
       {"wandb_api_key", "huggingface_token"},
       LATHE_TEXT("clash.secrets", "keys on the command line can be read by other users of this machine"),
       [](const Settings& s) {
         return s.source("wandb_api_key") == Source::command_line ||
                s.source("huggingface_token") == Source::command_line;
       },
       {}},
  };
}

std::vector<Clash> compiling() {
  return {
      {Severity::error,
       {"compile", "torch_compile"},
       LATHE_TEXT("clash.two_compiles",
                  "compile (block by block) and torch_compile (the whole network) exclude each "
                  "other"),
       [](const Settings& s) { return s.flag("compile") && s.flag("torch_compile"); },
       {turn_off("torch_compile"), turn_off("compile")}},
      {Severity::error,
       {"compile_fullgraph", "split_attn"},
       LATHE_TEXT("clash.fullgraph_split",
                  "compile_fullgraph forbids breaks of the graph, and split_attn makes some: "
                  "how it cuts the batch depends on data"),
       [](const Settings& s) { return s.flag("compile") && s.flag("compile_fullgraph") && s.flag("split_attn"); },
       {turn_off("split_attn"), turn_off("compile_fullgraph")}},
      {Severity::error,
       {"compile_fullgraph", "blocks_to_swap"},
       LATHE_TEXT("clash.fullgraph_swap",
                  "compile_fullgraph forbids breaks of the graph, and blocks_to_swap makes one "
                  "at each Linear"),
       [](const Settings& s) { return s.flag("compile") && s.flag("compile_fullgraph") && swaps(s); },
       {turn_off("compile_fullgraph"), leave_out("blocks_to_swap")}},
      {Severity::error,
       {"compile_fullgraph", "unsloth_offload_checkpointing", "cpu_offload_checkpointing"},
       LATHE_TEXT("clash.fullgraph_offload",
                  "compile_fullgraph forbids breaks of the graph, and checkpointing that "
                  "moves activations to the computer's memory makes one"),
       [](const Settings& s) {
         return s.flag("compile") && s.flag("compile_fullgraph") &&
                (s.flag("unsloth_offload_checkpointing") || s.flag("cpu_offload_checkpointing"));
       },
       {turn_off("compile_fullgraph")}},
      {Severity::error,
       {"dynamo_backend"},
       LATHE_TEXT("clash.tensort", "dynamo_backend tensort is a misspelling that the reference's own library refuses"),
       [](const Settings& s) { return s.flag("torch_compile") && s.text("dynamo_backend") == "tensort"; },
       {leave_out("dynamo_backend")}},
      {Severity::note,
       {"dynamo_backend"},
       LATHE_TEXT("clash.dynamo_backend", "any dynamo_backend means Lathe's own compiler"),
       [](const Settings& s) { return s.flag("torch_compile") && s.text("dynamo_backend") != "tensort"; },
       {}},
      {Severity::note,
       {"cuda_allow_tf32", "mixed_precision"},
       LATHE_TEXT("clash.tf32", "cuda_allow_tf32 adds next to nothing together with mixed_precision"),
       [](const Settings& s) { return s.flag("cuda_allow_tf32") && s.text("mixed_precision") != "no"; },
       {}},
  };
}

}  // namespace

void check_clashes(const Settings& settings, Findings& findings) {
  report(loss_and_noise(), settings, findings);
  report(precision_and_memory(), settings, findings);
  report(caching_and_run(), settings, findings);
}

void check_compile(const Settings& settings, Findings& findings) {
  report(compiling(), settings, findings);
}

}  // namespace lathe::config
