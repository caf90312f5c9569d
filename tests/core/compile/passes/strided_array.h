#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/compile/ir/graph.h"

namespace lathe::testing {

using Index = std::vector<std::int64_t>;

// An array in memory as ATen lays one out: elements of `dtype` at offset + Σ index·stride of a shared buffer. Numbers
// go in and out as double and are rounded to the element type on the way in.
struct StridedArray {
  ir::DType dtype = ir::DType::f32;
  Index sizes, strides;
  std::int64_t offset = 0;
  std::shared_ptr<std::vector<std::byte>> memory;

  // Room for every element that the strides reach, all bytes 0xff (a NaN, or a large number) so that what is never
  // written shows.
  static StridedArray make(ir::DType dtype, Index sizes, Index strides);
  static StridedArray dense(ir::DType dtype, Index sizes);

  std::int64_t count() const;
  void* first() const;  // address of element 0
  double get(const Index& index) const { return at(place(index)); }
  void set(const Index& index, double number) { put(place(index), number); }
  std::int64_t place(const Index& index) const;
  double at(std::int64_t place) const;
  void put(std::int64_t place, double number);
};

// Calls visit(index) for every index below `sizes`, the last dimension fastest; once with {} where there is none.
void for_each_index(const Index& sizes, const std::function<void(const Index&)>& visit);
// The index of an operand of these sizes that is broadcast to a result at `index`.
Index broadcast_index(const Index& index, const Index& sizes);

// Rounds as storing in this type and reading it back does.
double rounded(double number, ir::DType dtype);

}  // namespace lathe::testing
