#include "core/io/adapter_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::io {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kParts = {
    {{".lora_down.", ".lora_A."}, {".lora_up.", ".lora_B."}}};

std::string flat(std::string_view path) {
  std::string name(path);
  std::ranges::replace(name, '.', '_');
  return name;
}

std::map<std::string, std::string, std::less<>> by_flat_name(std::span<const std::string> modules) {
  std::map<std::string, std::string, std::less<>> paths;
  for (const std::string& module : modules) {
    const auto [place, added] = paths.emplace(flat(module), module);
    if (!added && place->second != module) {
      throw Error(ErrorKind::internal,
                  format("modules '{}' and '{}' have the same name in adapter files", place->second, module));
    }
  }
  return paths;
}

}  // namespace

AdapterNames::AdapterNames(std::span<const std::string> transformer_modules,
                           std::span<const std::string> text_encoder_modules)
    : transformer_{"lora_unet_", "diffusion_model.", by_flat_name(transformer_modules)},
      text_encoder_{"lora_te_", "text_encoders.qwen3_06b.transformer.model.", by_flat_name(text_encoder_modules)} {}

std::optional<std::string> AdapterNames::to_image_program(std::string_view key) const {
  for (const Target* target : {&transformer_, &text_encoder_}) {
    if (!key.starts_with(target->file_prefix)) continue;
    const std::string_view rest = key.substr(target->file_prefix.size());
    const std::size_t dot = std::min(rest.find('.'), rest.size());  // a flattened name holds none
    const auto module = target->path_by_flat_name.find(rest.substr(0, dot));
    if (module == target->path_by_flat_name.end()) return std::nullopt;
    std::string_view part = rest.substr(dot);
    std::string name = std::string(target->program_prefix) + module->second;
    for (const auto& [from, to] : kParts) {
      if (!part.starts_with(from)) continue;
      name += to;
      part.remove_prefix(from.size());
    }
    return name.append(part);
  }
  return std::nullopt;
}

std::optional<std::string> AdapterNames::from_image_program(std::string_view key) const {
  for (const Target* target : {&transformer_, &text_encoder_}) {
    if (!key.starts_with(target->program_prefix)) continue;
    const std::string_view rest = key.substr(target->program_prefix.size());
    // The longest beginning that is a module; the rest is what belongs to it.
    for (std::size_t dot = rest.rfind('.'); dot != std::string_view::npos && dot > 0; dot = rest.rfind('.', dot - 1)) {
      const std::string module = flat(rest.substr(0, dot));
      if (!target->path_by_flat_name.contains(module)) continue;
      std::string_view part = rest.substr(dot);
      std::string name = std::string(target->file_prefix) + module;
      for (const auto& [from, to] : kParts) {
        if (!part.starts_with(to)) continue;
        name += from;
        part.remove_prefix(to.size());
      }
      return name.append(part);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace lathe::io
