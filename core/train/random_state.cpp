#include "core/train/random_state.h"

#include <mutex>

#include <ATen/Context.h>

namespace lathe::train {

namespace {

at::Tensor state_of(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_state_of(at::Generator generator, const at::Tensor& state) {
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

}  // namespace

RandomState random_state(at::Device device) {
  RandomState result;
  result.cpu = state_of(at::globalContext().defaultGenerator(at::kCPU));
  if (!device.is_cpu()) {
    result.device = device;
    result.device_state = state_of(at::globalContext().defaultGenerator(device));
  }
  return result;
}

void set_random_state(const RandomState& state) {
  set_state_of(at::globalContext().defaultGenerator(at::kCPU), state.cpu);
  if (state.device) set_state_of(at::globalContext().defaultGenerator(*state.device), state.device_state);
}

void seed_everything(std::uint64_t seed) {
  at::manual_seed(seed);
}

}  // namespace lathe::train
