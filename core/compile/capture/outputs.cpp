#include "core/compile/capture/outputs.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/variable.h>

namespace lathe::capture {

namespace {

// The tensor of which autograd sees `tensor` as a plain view, itself where it is none. Nothing for views of a custom
// function, whose gradient is another, and for those made while gradients were off.
std::optional<at::Tensor> root(const at::Tensor& tensor) {
  if (!tensor.is_view()) return tensor;
  using torch::autograd::CreationMeta;
  const auto* meta = torch::autograd::impl::get_view_autograd_meta(tensor);
  const CreationMeta made = meta->get_creation_meta();
  if (made != CreationMeta::DEFAULT && made != CreationMeta::MULTI_OUTPUT_NODE) return std::nullopt;
  return at::Tensor(tensor._base());
}

bool is_view_of(const at::Tensor& tensor, const at::Tensor& source) {
  if (tensor.is_same(source)) return true;
  if (!tensor.is_alias_of(source) || tensor.requires_grad() != source.requires_grad()) return false;
  const auto a = root(tensor), b = root(source);
  return a && b && a->is_same(*b) && tensor.scalar_type() == source.scalar_type();
}

ir::OutputView view(ir::OutputView::Of of, std::size_t output, std::size_t source, const at::Tensor& tensor,
                    const at::Tensor& source_tensor) {
  const Geometry geometry(tensor);
  return {.of = of,
          .output = static_cast<std::int32_t>(output),
          .source = static_cast<std::int32_t>(source),
          .sizes = {geometry.sizes.begin(), geometry.sizes.end()},
          .strides = {geometry.strides.begin(), geometry.strides.end()},
          .offset = tensor.storage_offset() - source_tensor.storage_offset()};
}

// Whether two tensors of one storage share no element, as far as their strides show: boxes of the same strides that lie
// apart along one dimension (the parts of a split).
bool apart(const Geometry& a, const Geometry& b) {
  if (a.element_count() == 0 || b.element_count() == 0) return true;
  if (a.strides != b.strides) return false;
  const Geometry& first = a.offset <= b.offset ? a : b;
  std::int64_t distance = std::abs(a.offset - b.offset);
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < a.strides.size(); ++i) dims.push_back(i);
  std::ranges::sort(dims, [&](std::size_t i, std::size_t k) { return a.strides[i] > a.strides[k]; });
  for (const std::size_t dim : dims) {
    if (a.strides[dim] <= 0) continue;
    if (distance / a.strides[dim] >= first.sizes[dim]) return true;
    distance %= a.strides[dim];
  }
  return false;
}

// Makes outputs that overlap views of the one that holds them all.
void join_overlapping(const std::vector<at::Tensor>& outputs, Outputs& result, Recorder& recorder) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || result.is_view(i)) continue;
    std::vector<std::size_t> group = {i};
    for (std::size_t k = i + 1; k < outputs.size(); ++k) {
      if (outputs[k].defined() && !result.is_view(k) && outputs[k].is_alias_of(outputs[i]) &&
          !apart(Geometry(outputs[i]), Geometry(outputs[k])))
        group.push_back(k);
    }
    if (group.size() == 1) continue;
    const auto holds_all = [&](std::size_t source) {
      return std::ranges::all_of(group, [&](std::size_t k) {
        return k == source || (Aliases::contains(Geometry(outputs[source]), Geometry(outputs[k])) &&
                               (!outputs[k].requires_grad() || is_view_of(outputs[k], outputs[source])));
      });
    };
    const auto source = std::ranges::find_if(group, holds_all);
    if (source == group.end()) {
      recorder.refuse("outputs of the block overlap in memory and none holds the others");
      return;
    }
    for (const std::size_t k : group) {
      if (k != *source && (outputs[k].requires_grad() || !outputs[*source].requires_grad()))
        result.views.push_back(view(ir::OutputView::Of::output, k, *source, outputs[k], outputs[*source]));
    }
  }
}

}  // namespace

bool Outputs::is_view(std::size_t output) const {
  return std::ranges::any_of(
      views, [&](const ir::OutputView& entry) { return entry.output == static_cast<std::int32_t>(output); });
}

Outputs describe_outputs(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs,
                         const std::vector<at::Tensor>& parameters, Recorder& recorder) {
  Outputs result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    result.values.push_back(recorder.value_of(outputs[i]));
    if (!outputs[i].defined()) continue;
    const auto note = [&](ir::OutputView::Of of, const std::vector<at::Tensor>& sources) {
      const auto source = std::ranges::find_if(sources, [&](const at::Tensor& t) { return is_view_of(outputs[i], t); });
      if (source == sources.end()) return false;
      result.views.push_back(view(of, i, static_cast<std::size_t>(source - sources.begin()), outputs[i], *source));
      return true;
    };
    if (!note(ir::OutputView::Of::input, inputs)) note(ir::OutputView::Of::parameter, parameters);
  }
  join_overlapping(outputs, result, recorder);
  return result;
}

}  // namespace lathe::capture
