#include "core/train/metadata.h"

#include <ctime>
#include <span>

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/hash.h"
#include "core/base/paths.h"
#include "core/config/python_literal.h"
#include "core/train/metadata_datasets.h"

namespace lathe::train {

namespace {

// Entries that are an option's value as it stands: ss_<option>.
constexpr std::string_view kPlain[] = {
    "output_name", "learning_rate", "text_encoder_lr", "unet_lr", "gradient_checkpointing",
    "gradient_accumulation_steps", "lr_warmup_steps", "network_module", "network_dim", "network_alpha",
    "network_dropout", "mixed_precision", "full_fp16", "v2", "clip_skip", "max_token_length", "lowram", "noise_offset",
    "multires_noise_iterations", "multires_noise_discount", "adaptive_noise_scale", "zero_terminal_snr",
    "training_comment", "max_grad_norm", "caption_dropout_rate", "caption_dropout_every_n_epochs",
    "caption_tag_dropout_rate", "prior_loss_weight", "min_snr_gamma", "scale_weight_norms", "ip_noise_gamma",
    "noise_offset_random_strength", "ip_noise_gamma_random_strength", "loss_type", "huber_schedule", "huber_scale",
    "huber_c", "fp8_base", "fp8_base_unet", "validation_seed", "validation_split", "max_validation_steps",
    "validate_every_n_epochs", "validate_every_n_steps", "resize_interpolation",
    // Anima's own
    "weighting_scheme", "logit_mean", "logit_std", "mode_scale", "timestep_sampling", "sigmoid_scale",
    "discrete_flow_shift"};

// What no_metadata keeps (beside ss_network_args, modelspec and hashes).
constexpr std::string_view kMinimum[] = {"ss_v2",          "ss_base_model_version", "ss_network_module",
                                         "ss_network_dim", "ss_network_alpha",      "ss_network_args"};

// {"train_llm_adapter": "True", "dropout": null}
std::string network_arguments(const config::Settings& settings) {
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  for (const std::string& word : settings.list("network_args")) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) arguments[word.substr(0, equals)] = word.substr(equals + 1);
  }
  if (!settings.flag("dim_from_weights") && !arguments.contains("dropout")) {
    const std::optional<double> dropout = settings.maybe_real("network_dropout");
    arguments["dropout"] = dropout ? nlohmann::ordered_json(*dropout) : nlohmann::ordered_json(nullptr);
  }
  return python_json(arguments);
}

// "0.1,0.2" → "(0.1, 0.2)"
std::string crop_range(const config::Settings& settings) {
  const std::string text = settings.text("face_crop_aug_range");
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return "None";
  const auto low = config::parse_python_float(text.substr(0, comma));
  const auto high = config::parse_python_float(text.substr(comma + 1));
  return low && high ? format("({}, {})", config::python_repr(*low), config::python_repr(*high)) : "None";
}

void add_model(io::Metadata& metadata, const std::string& prefix, const std::string& suffix,
               const std::optional<ModelFile>& file) {
  if (!file) return;
  metadata[prefix + "_name"] = file->name;
  if (file->hash.empty()) return;
  metadata[prefix + "_hash"] = file->hash;
  metadata["ss_new_" + suffix + "_hash"] = file->new_hash;
}

void add_counts(io::Metadata& metadata, const MetadataFacts& facts) {
  std::int64_t validation = 0;
  for (const dataset::Dataset& data : facts.manifest->validation) validation += data.training_items(false);
  metadata["ss_num_train_images"] = std::to_string(facts.manifest->image_count());
  metadata["ss_num_validation_images"] = std::to_string(validation);
  metadata["ss_num_reg_images"] = std::to_string(facts.manifest->regularisation_count());
  metadata["ss_num_batches_per_epoch"] = std::to_string(facts.batches_per_epoch);
  metadata["ss_num_epochs"] = std::to_string(facts.epochs);
  metadata["ss_max_train_steps"] = std::to_string(facts.max_train_steps);
}

// resolution "512,768" or "512" → "512x768", "512x512"; unset: 1024x1024.
std::string modelspec_resolution(const config::Settings& settings) {
  const std::string text = settings.text("resolution");
  const std::size_t comma = text.find(',');
  const auto width = config::parse_python_int(text.substr(0, comma));
  const auto height = comma == std::string::npos ? width : config::parse_python_int(text.substr(comma + 1));
  return width && height ? format("{}x{}", *width, *height) : "1024x1024";
}

std::string local_iso_time(double seconds) {
  const auto moment = static_cast<std::time_t>(seconds);
  std::tm parts{};
#ifdef _WIN32
  localtime_s(&parts, &moment);
#else
  localtime_r(&moment, &parts);
#endif
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

void add_modelspec(io::Metadata& metadata, const config::Settings& settings, double now) {
  std::string title = settings.text("metadata_title");
  if (title.empty()) title = settings.text("output_name");
  if (title.empty()) title = format("LoRA@{}", config::python_repr(now));
  metadata["modelspec.sai_model_spec"] = "1.0.1";
  metadata["modelspec.architecture"] = "anima-preview/lora";
  metadata["modelspec.implementation"] = "https://huggingface.co/circlestone-labs/Anima";
  metadata["modelspec.implementation_version"] = "sd-scripts/unknown";
  metadata["modelspec.title"] = title;
  metadata["modelspec.resolution"] = modelspec_resolution(settings);
  metadata["modelspec.date"] = local_iso_time(now);
  metadata["modelspec.prediction_type"] = settings.flag("v_parameterization") ? "v" : "epsilon";
  for (const char* entry : {"author", "description", "license", "tags"}) {
    const std::optional<std::string> text = settings.maybe_text(format("metadata_{}", entry));
    if (text) metadata[format("modelspec.{}", entry)] = *text;
  }
  const auto from = settings.maybe_integer("min_timestep");
  const auto to = settings.maybe_integer("max_timestep");
  if (from || to) metadata["modelspec.timestep_range"] = format("{},{}", from.value_or(0), to.value_or(1000));
  if (settings.is_set("clip_skip"))
    metadata["modelspec.encoder_layer"] = config::python_str(settings.value("clip_skip"));
}

}  // namespace

ModelFile describe_model_file(const std::string& path) {
  const std::filesystem::path file = from_utf8(path);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {path, "", ""};
  const std::string name = to_utf8(file.filename());
  if (std::filesystem::is_directory(file, error)) return {name, "IsADirectory", "IsADirectory"};
  const MappedFile mapped(file);
  constexpr std::size_t offset = 0x100000;
  constexpr std::size_t length = 0x10000;
  const std::span<const std::byte> bytes = mapped.bytes();
  const std::size_t begin = std::min(offset, bytes.size());
  const std::span<const std::byte> part = bytes.subspan(begin, std::min(length, bytes.size() - begin));
  return {name, sha256_hex(part).substr(0, 8), sha256_hex(bytes)};
}

io::Metadata run_metadata(const config::Settings& settings, const MetadataFacts& facts) {
  io::Metadata metadata;
  for (const std::string_view option : kPlain) {
    metadata["ss_" + std::string(option)] = config::python_str(settings.value(option));
  }
  metadata["ss_session_id"] = std::to_string(facts.session_id);
  metadata["ss_training_started_at"] = config::python_repr(facts.started_at);
  metadata["ss_seed"] = std::to_string(facts.seed);
  metadata["ss_base_model_version"] = "anima";
  metadata["ss_sd_scripts_commit_hash"] = "(unknown)";
  metadata["ss_lr_scheduler"] = facts.lr_scheduler;
  metadata["ss_optimizer"] = facts.optimizer;
  metadata["ss_cache_latents"] =
      config::python_str(config::Value(settings.flag("cache_latents") || settings.flag("cache_latents_to_disk")));
  metadata["ss_debiased_estimation"] = config::python_str(config::Value(settings.flag("debiased_estimation_loss")));
  metadata["ss_face_crop_aug_range"] = crop_range(settings);
  if (settings.is_set("network_args")) metadata["ss_network_args"] = network_arguments(settings);
  if (settings.flag("no_metadata")) {
    io::Metadata kept;
    for (const std::string_view name : kMinimum) {
      if (const auto found = metadata.find(name); found != metadata.end()) kept.insert(*found);
    }
    return kept;
  }
  add_counts(metadata, facts);
  add_dataset_metadata(metadata, settings, *facts.manifest, facts.datasets_from_file, facts.processes);
  add_model(metadata, "ss_sd_model", "sd_model", facts.base_model);
  add_model(metadata, "ss_vae", "vae", facts.vae);
  return metadata;
}

io::Metadata file_metadata(const io::Metadata& run, const config::Settings& settings, const SaveFacts& facts) {
  io::Metadata metadata = run;
  if (!settings.flag("no_metadata")) {
    metadata["ss_training_finished_at"] = config::python_repr(facts.now);
    metadata["ss_steps"] = std::to_string(facts.steps);
    metadata["ss_epoch"] = std::to_string(facts.epoch);
  }
  add_modelspec(metadata, settings, facts.now);
  return metadata;
}

}  // namespace lathe::train
