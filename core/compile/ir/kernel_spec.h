#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/compile/ir/graph.h"

namespace lathe::ir {

// What one fused kernel computes, between fusion (passes) and text (codegen). A kernel walks a rectangular domain
// [d0, d1, …, row]: the last dimension is the row, along which values are contiguous where that can be had, which is
// vectorised, and along which reductions run; the others are independent and are shared out among threads.
//
// Expressions are in single-assignment order. One that depends on a reduction belongs to a later sweep over the row;
// the planner has assigned `sweep`, so that codegen only writes loops: for each outer index, sweep 0 over the row, then
// sweep 1 …. Values of an earlier sweep that a later one reads are computed again or kept in a row buffer, as
// `keep_in_row_buffer` says.

enum class ExprOp : std::uint8_t {
  // leaves
  load,  // may have one argument, a condition: where it is false nothing is read and the value is 0
  constant,
  size,
  index,
  // one argument
  neg,
  abs,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tanh,
  erf,
  sigmoid,
  floor,
  ceil,
  round,
  logical_not,
  cast,
  // two
  add,
  sub,
  mul,
  div,
  pow,
  minimum,
  maximum,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  // three
  select,  // condition, then, else
  // along the row
  reduce_sum,
  reduce_max,
  // running sum along the row, up to and including this element
  cumulative_sum,
};

// Element address: offset + Σ strides[i]·index[i], in elements; a stride of 0 broadcasts.
struct Access {
  ValueId value = -1;
  std::vector<Size> strides;  // one a domain dimension
  Size offset;
};

struct Expr {
  ExprOp op = ExprOp::constant;
  std::vector<std::int32_t> arguments;  // earlier expressions
  // Type of the result. Arithmetic on f16 and bf16 values is done in f32 and rounded to `dtype` when `round` is set
  // (what eager would do between two operators); fused casts leave it out where that is exact or wished for.
  DType dtype = DType::f32;
  bool round = false;
  double number = 0.0;   // constant
  Size size;             // size: the value of a symbolic integer
  std::int32_t dim = 0;  // index: which domain dimension's index
  Access access;         // load
  std::int32_t sweep = 0;
  bool keep_in_row_buffer = false;
};

struct Store {
  std::int32_t expr = 0;
  Access access;            // value: an output of the kernel
  bool once_a_row = false;  // a reduction's result: written once for each outer index
};

struct KernelSpec {
  // "k_mean_sub_mul_5f1c…": made of what the kernel computes, so kernels of one name have one code and differ in the
  // values that they are called with alone.
  std::string name;
  std::vector<Size> domain;
  std::vector<Expr> exprs;
  std::vector<Store> stores;
  std::vector<ValueId> inputs, outputs;  // in the order of the kernel's arguments
  std::vector<SymbolId> symbols;         // passed as int64 after the pointers
  std::int32_t sweeps = 1;
  // The graph's nodes that it replaces, for reports.
  std::vector<std::string> replaced;
};

// Where each temporary of a program lies in its arena, in bytes. Made for one set of sizes (then every Size here is a
// number) or for all of them; offsets are multiples of 64 at the sizes that the plan was made for, otherwise round each
// up to 64 when it is evaluated: the plan has left room for that.
struct BufferPlan {
  ValueId value = -1;
  Size bytes;
  Size offset;
  std::int32_t first = 0, last = 0;  // steps between which it lives, both included
};
struct MemoryPlan {
  std::vector<BufferPlan> buffers;
  Size arena_bytes;
};

}  // namespace lathe::ir
