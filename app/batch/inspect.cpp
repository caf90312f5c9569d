#include "app/batch/inspect.h"

#include <array>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/io/image_file.h"
#include "core/io/json_lines.h"
#include "core/io/npz.h"
#include "core/io/safetensors.h"
#include "core/run/events_json.h"

namespace lathe::batch {

namespace fs = std::filesystem;

namespace {

bool starts_with_any(const std::string& text, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes) {
    if (text.starts_with(prefix)) return true;
  }
  return false;
}

std::string kind_of(const std::vector<io::TensorInfo>& tensors) {
  for (const io::TensorInfo& tensor : tensors) {
    if (starts_with_any(tensor.name, {"lora_unet_", "lora_te_"})) return "adapter (LoRA)";
    if (tensor.name.find("llm_adapter.") != std::string::npos ||
        tensor.name.find("x_embedder.proj.1") != std::string::npos) {
      return "Anima diffusion transformer";
    }
    if (starts_with_any(tensor.name, {"encoder.conv_in", "encoder.conv1", "decoder.conv_in", "decoder.conv1"})) {
      return "Qwen-Image VAE";
    }
    if (tensor.name.ends_with("layers.0.self_attn.q_norm.weight")) return "Qwen3 text encoder";
    if (starts_with_any(tensor.name, {"diffusion_model.blocks.", "text_encoders."}) &&
        tensor.name.find(".lora_") != std::string::npos) {
      return "adapter (LoRA, image-program names)";
    }
  }
  return "tensors of an unknown kind";
}

std::string describe_adapter(const std::vector<io::TensorInfo>& tensors) {
  std::set<std::int64_t> ranks;
  std::int64_t modules = 0, unet = 0, text = 0;
  for (const io::TensorInfo& tensor : tensors) {
    const bool down = tensor.name.ends_with(".lora_down.weight") || tensor.name.ends_with(".lora_A.weight");
    if (!down || tensor.shape.empty()) continue;
    ++modules;
    ++(tensor.name.starts_with("lora_te_") || tensor.name.starts_with("text_encoders.") ? text : unet);
    ranks.insert(tensor.shape[0]);
  }
  std::vector<std::string> names;
  for (const std::int64_t rank : ranks) names.push_back(std::to_string(rank));
  return format("modules: {} ({} transformer, {} text encoder), rank {}\n", modules, unet, text, join(names, ", "));
}

std::string inspect_safetensors(const fs::path& path) {
  const io::SafetensorsFile file(path);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_dtype;  // count, elements
  for (const io::TensorInfo& tensor : file.tensors()) {
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.shape) elements *= size;
    auto& entry = by_dtype[std::string(io::name(tensor.dtype))];
    ++entry.first;
    entry.second += elements;
  }
  const std::string kind = kind_of(file.tensors());
  std::string text =
      format("{}: {}, {} tensors, {}\n", path, kind, file.tensors().size(), human_bytes(fs::file_size(path)));
  for (const auto& [dtype, counts] : by_dtype)
    text += format("{}: {} tensors, {} numbers\n", dtype, counts.first, counts.second);
  if (kind.starts_with("adapter")) text += describe_adapter(file.tensors());
  for (const auto& [key, value] : file.metadata()) {
    text += format("{} = {}\n", key, value.size() > 200 ? value.substr(0, 200) + "…" : value);
  }
  return text;
}

std::string inspect_npz(const fs::path& path) {
  std::string text = format("{}: arrays, {}\n", path, human_bytes(fs::file_size(path)));
  const io::NpzFile file(path);
  for (const io::NpzEntry& entry : file.entries()) {
    text += entry.dtype ? format("{}: {} {}\n", entry.name, io::name(*entry.dtype), entry.shape)
                        : format("{}: not readable: {}\n", entry.name, entry.problem);
  }
  return text;
}

std::string inspect_image(const fs::path& path) {
  const io::ImageProbe image = io::probe_image(path);
  return format("{}: {} image, {}x{}, {}, {} bits{}\n", path, io::name(image.format), image.width, image.height,
                io::name(image.mode), image.bits, image.has_alpha ? ", transparent parts" : "");
}

std::string inspect_run(const fs::path& folder) {
  std::string text = format("{}: run\n", folder);
  std::map<std::string, std::int64_t> counts;
  std::optional<run::RunEnded> ended;
  run::StepDone last;
  for (const auto& value : io::read_json_lines(folder / "events.jsonl").values) {
    const auto event = run::event_from_json_value(value);
    if (!event) continue;
    if (const auto* step = std::get_if<run::StepDone>(&event->body)) last = *step;
    if (const auto* end = std::get_if<run::RunEnded>(&event->body)) ended = *end;
    if (const auto* saved = std::get_if<run::CheckpointSaved>(&event->body)) text += format("saved: {}\n", saved->path);
    if (const auto* failed = std::get_if<run::RunFailed>(&event->body)) {
      text += format("failed: {}\n", failed->message.english());
    }
  }
  text += format("last step: {} of {}, loss {}\n", last.step, last.steps, last.loss);
  text += ended ? format("ended: {} after {}\n", run::name(ended->status), human_seconds(ended->seconds))
                : std::string("not ended: still running, or the process was killed\n");
  return text;
}

}  // namespace

std::string inspect_file(const fs::path& path) {
  if (!fs::exists(path)) throw Error(ErrorKind::file, format("'{}' does not exist", path));
  if (fs::is_directory(path)) {
    if (fs::exists(path / "events.jsonl")) return inspect_run(path);
    throw Error(ErrorKind::format,
                format("'{}' is a folder without events.jsonl: no run; name a file or a run folder", path));
  }
  const std::string extension = split_extension(to_utf8(path)).extension;
  if (extension == ".safetensors") return inspect_safetensors(path);
  if (extension == ".npz") return inspect_npz(path);
  for (const std::string_view known : io::image_extensions()) {
    if (extension == known) return inspect_image(path);
  }
  throw Error(ErrorKind::format,
              format("'{}' is of a kind that inspect does not know; it reads .safetensors, .npz, images "
                     "and run folders",
                     path));
}

}  // namespace lathe::batch
