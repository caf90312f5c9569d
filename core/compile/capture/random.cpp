#include "core/compile/capture/random.h"

#include <algorithm>
#include <cstring>

#include "core/compile/aten/generators.h"
#include "core/compile/capture/graph_builder.h"

namespace lathe::capture {

namespace {

// States are byte tensors on the CPU.
bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

}  // namespace

RandomKeeper::RandomKeeper(std::span<const at::Tensor> tensors) {
  states_.push_back({at::kCPU, aten::random_state(at::kCPU)});
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || !tensor.is_cuda()) continue;
    const at::Device device = tensor.device();
    if (std::ranges::any_of(states_, [&](const State& kept) { return kept.device == device; })) continue;
    states_.push_back({device, aten::random_state(device)});
  }
}

RandomKeeper::~RandomKeeper() {
  for (const State& kept : states_) aten::set_random_state(kept.device, kept.state);
}

std::int32_t Draws::begin(at::Device device) {
  at::Tensor state = aten::random_state(device);
  const auto is_this = [&](const State& known) { return known.device == device && same(known.state, state); };
  const auto repeated = std::ranges::find_if(before_, is_this);
  is_new_ = repeated == before_.end();
  if (!is_new_) return static_cast<std::int32_t>(repeated - before_.begin());

  const auto of_device = [&](const State& known) { return known.device == device; };
  const auto last = std::ranges::find_if(frontier_, of_device);
  if (last != frontier_.end() && !same(last->state, state))
    throw Refused("the block sets the state of the random generator");
  before_.push_back({device, std::move(state)});
  return count() - 1;
}

void Draws::end(at::Device device) {
  if (!is_new_) return;
  std::erase_if(frontier_, [&](const State& known) { return known.device == device; });
  frontier_.push_back({device, aten::random_state(device)});
}

}  // namespace lathe::capture
