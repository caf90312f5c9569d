#include "core/train/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::train {

at::ScalarType base_dtype(std::string_view mixed_precision) {
  if (mixed_precision == "no") return at::kFloat;
  if (mixed_precision == "fp16") return at::kHalf;
  if (mixed_precision == "bf16") return at::kBFloat16;
  throw Error(ErrorKind::settings, format("mixed_precision is '{}'; it can be no, fp16 or bf16", mixed_precision));
}

at::ScalarType save_dtype(std::string_view save_precision) {
  if (save_precision == "float") return at::kFloat;
  if (save_precision == "fp16") return at::kHalf;
  if (save_precision == "bf16") return at::kBFloat16;
  throw Error(ErrorKind::settings, format("save_precision is '{}'; it can be float, fp16 or bf16", save_precision));
}

AutocastState autocast_state(at::DeviceType device) {
  return {device, at::autocast::is_autocast_enabled(device), at::autocast::get_autocast_dtype(device),
          at::autocast::is_autocast_cache_enabled()};
}

AutocastGuard::AutocastGuard(const AutocastState& state) : previous_(autocast_state(state.device)) {
  at::autocast::set_autocast_enabled(state.device, state.enabled);
  at::autocast::set_autocast_dtype(state.device, state.dtype);
  at::autocast::increment_nesting();
  at::autocast::set_autocast_cache_enabled(state.cache);
}

AutocastGuard::AutocastGuard(at::DeviceType device, at::ScalarType dtype)
    : AutocastGuard(dtype == at::kFloat ? AutocastState{device, false, autocast_state(device).dtype, true}
                                        : AutocastState{device, true, dtype, true}) {}

AutocastGuard::~AutocastGuard() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(previous_.device, previous_.enabled);
  at::autocast::set_autocast_dtype(previous_.device, previous_.dtype);
  at::autocast::set_autocast_cache_enabled(previous_.cache);
}

void apply(const MatmulSettings& settings) {
  at::Context& context = at::globalContext();
  if (!settings.float32_matmul_precision.empty()) {
    context.setFloat32MatmulPrecision(std::string(settings.float32_matmul_precision));
  }
  if (settings.allow_tf32) {
    context.setAllowTF32CuBLAS(true);
    context.setAllowTF32CuDNN(true);
  }
  if (settings.cudnn_benchmark) context.setBenchmarkCuDNN(true);
}

std::string matmul_settings_text() {
  const at::Context& context = at::globalContext();
  const auto on = [](bool value) { return value ? "on" : "off"; };
  constexpr std::string_view names[] = {"highest", "high", "medium"};
  return format("TF32 products {}, TF32 convolutions {}, float32_matmul_precision {}, cuDNN benchmark {}",
                on(context.allowTF32CuBLAS()), on(context.allowTF32CuDNN()),
                names[static_cast<std::size_t>(context.float32MatmulPrecision())], on(context.benchmarkCuDNN()));
}

}  // namespace lathe::train
