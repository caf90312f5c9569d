#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/compile/capture/graph_builder.h"

namespace lathe::capture {

// Which value of the graph a tensor holds, while operators write into memory that others see too.
//
// Each storage has a current value, the base, and counts its epochs: a write makes a new base and ends an epoch. A
// value that lies in a storage knows its epoch; one of an earlier epoch is viewed anew from the base when it is next
// read, by the operators that made it a view, else by as_strided.
//
// Tensors are known by their TensorImpl, and if that is new by storage and geometry: autograd keeps results by
// tensor_data(), under an impl that no operator announces. Impls and storages are held by weak pointers: their
// addresses stay unique, their memory and the stealing of gradients stay undisturbed.
class Aliases {
 public:
  explicit Aliases(GraphBuilder& builder) : builder_(builder) {}

  // `tensor` holds `id`, which is no result of a node. Where its storage is known, it lies in it too.
  void add(const at::Tensor& tensor, ir::ValueId id);
  // `tensor` is result number `result` of the node that comes next, `operands` what that reads: where it lies in an
  // operand's storage it is a view of that operand.
  void add_result(const at::Tensor& tensor, ir::ValueId id, std::size_t result, std::span<const ir::ValueId> operands);

  // The value that `tensor` holds now; nothing where it is foreign. May append views.
  std::optional<ir::ValueId> find(const at::Tensor& tensor);
  // `tensor`, which held `old_value`, was overwritten with `new_value` (of its sizes and dtype). Appends what brings
  // the write to the base.
  void write(const at::Tensor& tensor, ir::ValueId old_value, ir::ValueId new_value);
  // `tensor` was made another view of its storage in place (t_, squeeze_): it holds `id` from now on.
  void rebind(const at::Tensor& tensor, ir::ValueId id) { bind(tensor, id); }

  // Number of the storage that `id`, or a tensor, lies in, or -1.
  std::int32_t storage(ir::ValueId id) const;
  std::int32_t storage_of(const at::Tensor& tensor) const;
  // The first value that was seen in a storage, and how often it was written.
  ir::ValueId first_value(std::int32_t storage) const { return at(storage).values.front(); }
  std::int32_t epoch(std::int32_t storage) const { return at(storage).epoch; }
  const Geometry& geometry(ir::ValueId id) const { return places_[static_cast<std::size_t>(id)].geometry; }
  // Whether all elements of `inner` are elements of `outer`, which must fill its stretch of memory.
  static bool contains(const Geometry& outer, const Geometry& inner);

 private:
  struct Place {
    std::int32_t storage = -1, epoch = 0;
    Geometry geometry;
    ir::ValueId parent = -1;  // of which it is a view, by result `result` of node `node`
    std::size_t node = 0, result = 0;
  };
  struct Storage {
    ir::ValueId base = -1;
    std::int32_t epoch = 0;
    std::vector<ir::ValueId> values;
    c10::weak_intrusive_ptr<c10::StorageImpl> alive;
  };

  Storage& at(std::int32_t storage) { return storages_[static_cast<std::size_t>(storage)]; }
  const Storage& at(std::int32_t storage) const { return storages_[static_cast<std::size_t>(storage)]; }
  Place& place(ir::ValueId id);
  void bind(const at::Tensor& tensor, ir::ValueId id);
  void put(ir::ValueId id, std::int32_t storage, Geometry geometry);
  std::optional<ir::ValueId> in_epoch(const Storage& storage, const Geometry& geometry) const;
  ir::ValueId current(ir::ValueId id);
  ir::ValueId viewed_again(const Place& stale);
  ir::ValueId strided_view(std::int32_t storage, const Geometry& geometry);
  ir::ValueId new_base(ir::ValueId id, ir::ValueId value);
  std::int64_t offset_in(std::int32_t storage, const Geometry& geometry) const;

  GraphBuilder& builder_;
  std::vector<Place> places_;  // by value
  std::vector<Storage> storages_;
  std::unordered_map<const c10::TensorImpl*, ir::ValueId> by_impl_;
  std::unordered_map<const c10::StorageImpl*, std::int32_t> by_storage_;
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> impls_alive_;
};

}  // namespace lathe::capture
