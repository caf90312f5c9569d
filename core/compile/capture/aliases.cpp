#include "core/compile/capture/aliases.h"

#include <algorithm>
#include <utility>

#include "core/base/format.h"
#include "core/compile/capture/views.h"

namespace lathe::capture {

namespace {

// First and last element that a geometry touches.
std::pair<std::int64_t, std::int64_t> stretch(const Geometry& geometry) {
  std::int64_t last = geometry.offset;
  for (std::size_t i = 0; i < geometry.sizes.size(); ++i) last += (geometry.sizes[i] - 1) * geometry.strides[i];
  return {geometry.offset, last};
}

}  // namespace

bool Aliases::contains(const Geometry& outer, const Geometry& inner) {
  if (outer.dtype != inner.dtype) return false;
  if (inner.element_count() == 0) return true;
  const auto [outer_first, outer_last] = stretch(outer);
  const auto [inner_first, inner_last] = stretch(inner);
  const bool fills_its_stretch = outer_last - outer_first + 1 == outer.element_count();
  return fills_its_stretch && inner_first >= outer_first && inner_last <= outer_last;
}

Aliases::Place& Aliases::place(ir::ValueId id) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= places_.size()) places_.resize(builder_.graph.values.size());
  return places_[index];
}

std::int32_t Aliases::storage(ir::ValueId id) const {
  const auto index = static_cast<std::size_t>(id);
  return index < places_.size() ? places_[index].storage : -1;
}

std::int32_t Aliases::storage_of(const at::Tensor& tensor) const {
  if (!tensor.has_storage()) return -1;
  const auto found = by_storage_.find(tensor.storage().unsafeGetStorageImpl());
  return found == by_storage_.end() ? -1 : found->second;
}

void Aliases::bind(const at::Tensor& tensor, ir::ValueId id) {
  const auto [entry, is_new] = by_impl_.insert_or_assign(tensor.unsafeGetTensorImpl(), id);
  if (is_new) impls_alive_.emplace_back(tensor.getIntrusivePtr());
}

void Aliases::put(ir::ValueId id, std::int32_t storage, Geometry geometry) {
  Place& entry = place(id);
  entry.storage = storage;
  entry.epoch = at(storage).epoch;
  entry.geometry = std::move(geometry);
  at(storage).values.push_back(id);
}

void Aliases::add(const at::Tensor& tensor, ir::ValueId id) {
  const auto [entry, is_new] =
      by_storage_.try_emplace(tensor.storage().unsafeGetStorageImpl(), static_cast<std::int32_t>(storages_.size()));
  if (is_new) storages_.push_back({.base = id, .alive = tensor.storage().getWeakStorageImpl()});
  put(id, entry->second, Geometry(tensor));
  bind(tensor, id);
}

void Aliases::add_result(const at::Tensor& tensor, ir::ValueId id, std::size_t result,
                         std::span<const ir::ValueId> operands) {
  add(tensor, id);
  Place& entry = place(id);
  for (const ir::ValueId operand : operands) {
    if (operand < 0 || storage(operand) != entry.storage) continue;
    entry.parent = operand;
    entry.node = builder_.graph.nodes.size();
    entry.result = result;
    return;
  }
}

std::optional<ir::ValueId> Aliases::in_epoch(const Storage& storage, const Geometry& geometry) const {
  for (auto id = storage.values.rbegin(); id != storage.values.rend(); ++id) {
    const Place& entry = places_[static_cast<std::size_t>(*id)];
    if (entry.epoch == storage.epoch && entry.geometry == geometry) return *id;
  }
  return std::nullopt;
}

std::optional<ir::ValueId> Aliases::find(const at::Tensor& tensor) {
  const auto known_storage = by_storage_.find(tensor.storage().unsafeGetStorageImpl());
  if (known_storage == by_storage_.end()) return std::nullopt;
  const std::int32_t storage = known_storage->second;

  const auto known = by_impl_.find(tensor.unsafeGetTensorImpl());
  if (known != by_impl_.end()) {
    const Place& entry = place(known->second);
    // The impl may have been given other memory or another shape behind the dispatcher's back.
    if (entry.storage == storage && entry.geometry.is_of(tensor)) return known->second = current(known->second);
  }
  for (auto id = at(storage).values.rbegin(); id != at(storage).values.rend(); ++id) {
    if (!place(*id).geometry.is_of(tensor)) continue;
    const ir::ValueId found = current(*id);
    bind(tensor, found);
    return found;
  }
  const ir::ValueId found = strided_view(storage, Geometry(tensor));
  bind(tensor, found);
  return found;
}

ir::ValueId Aliases::current(ir::ValueId id) {
  const Place entry = place(id);
  const Storage& storage = at(entry.storage);
  if (entry.epoch == storage.epoch) return id;
  if (const auto found = in_epoch(storage, entry.geometry)) return *found;
  return entry.parent >= 0 ? viewed_again(entry) : strided_view(entry.storage, entry.geometry);
}

ir::ValueId Aliases::viewed_again(const Place& stale) {
  const ir::ValueId parent = current(stale.parent);
  const ir::Node& made = builder_.graph.nodes[stale.node];
  const std::vector<ir::ValueId> old_results = made.results;
  std::vector<ir::Operand> operands = made.operands;
  std::string op = made.op;
  for (ir::Operand& operand : operands) std::ranges::replace(operand.values, stale.parent, parent);

  std::vector<ir::ValueId> results;
  for (std::size_t i = 0; i < old_results.size(); ++i) {
    const ir::ValueId id = builder_.add_result_like(old_results[i]);
    put(id, stale.storage, geometry(old_results[i]));
    Place& entry = place(id);
    entry.parent = parent;
    entry.node = builder_.graph.nodes.size();
    entry.result = i;
    results.push_back(id);
  }
  builder_.add_node(std::move(op), std::move(operands), results);
  return results.at(stale.result);
}

// as_strided counts from the beginning of the storage. What a node makes begins there; an input may lie anywhere, and
// the guard then asks for the same place.
std::int64_t Aliases::offset_in(std::int32_t storage, const Geometry& geometry) const {
  const ir::ValueId base = at(storage).base;
  const Geometry& whole = places_[static_cast<std::size_t>(base)].geometry;
  if (!contains(whole, geometry)) throw Refused("a view reaches beyond the tensor that it was seen with first");
  if (builder_.value(base).origin == ir::Origin::node && whole.offset != 0)
    throw Refused("a view of a result that does not begin where its memory begins");
  return geometry.offset;
}

ir::ValueId Aliases::strided_view(std::int32_t storage, const Geometry& geometry) {
  const std::int64_t offset = offset_in(storage, geometry);
  const ir::ValueId base = at(storage).base;
  const ir::ValueId id = builder_.add_result(geometry, builder_.value(base).device);
  put(id, storage, geometry);
  Place& entry = place(id);
  entry.parent = base;
  entry.node = builder_.graph.nodes.size();
  builder_.add_node(
      "as_strided",
      {tensor_operand(base), sizes_operand(geometry.sizes), sizes_operand(geometry.strides), integer_operand(offset)},
      {id});
  return id;
}

// The base after `value` was written at the place of `id`, up the chain of views that made `id`.
ir::ValueId Aliases::new_base(ir::ValueId id, ir::ValueId value) {
  const Place entry = place(id);
  const ir::ValueId base = at(entry.storage).base;
  if (entry.geometry == geometry(base)) return with_strides(builder_, value, entry.geometry);
  if (entry.parent >= 0) {
    const ir::ValueId parent = current(entry.parent);
    const auto updated = write_through_view(builder_, builder_.graph.nodes[entry.node], entry.result, parent, value);
    if (updated) return new_base(parent, *updated);
  }
  const std::int64_t offset = offset_in(entry.storage, entry.geometry);
  const ir::ValueId result = builder_.add_result_like(base);
  builder_.add_node("as_strided_scatter",
                    {tensor_operand(base), tensor_operand(value), sizes_operand(entry.geometry.sizes),
                     sizes_operand(entry.geometry.strides), integer_operand(offset)},
                    {result});
  return result;
}

void Aliases::write(const at::Tensor& tensor, ir::ValueId old_value, ir::ValueId new_value) {
  const std::int32_t storage = place(old_value).storage;
  const Geometry whole = geometry(at(storage).base);
  const bool is_whole = place(old_value).geometry == whole;
  const ir::ValueId base = new_base(old_value, new_value);
  ++at(storage).epoch;
  at(storage).base = base;
  put(base, storage, whole);
  bind(tensor, is_whole ? base : old_value);
}

}  // namespace lathe::capture
