#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/compile/ir/size.h"

namespace lathe::ir {

using ValueId = std::int32_t;  // −1: absent (an undefined tensor)

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
std::string_view name(DType dtype);
std::int64_t byte_size(DType dtype);

struct Device {
  enum class Type : std::uint8_t { cpu, cuda } type = Type::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

// Where a symbol's value comes from at run time, and what may be assumed of it.
struct Symbol {
  enum class From : std::uint8_t { input_dim, data } from = From::input_dim;
  ValueId value = -1;  // the input whose dimension it is; for data: the result whose dimension is known once it ran
  int dim = 0;
  std::int64_t hint = 0;  // seen in the first recording
  std::int64_t min = 2, max = INT64_MAX, multiple_of = 1;
};

enum class Origin : std::uint8_t { input, parameter, constant, tangent, node };

struct Value {
  DType dtype = DType::f32;
  Device device;
  std::vector<Size> sizes, strides;
  Origin origin = Origin::node;
  std::int32_t index = -1;  // among its origin's list (Graph::inputs …); for nodes: the node that defines it
};

// An operand that is no tensor. `none` is ATen's None.
using Attribute = std::variant<std::monostate, bool, Size, double, std::string, DType, Device, std::vector<Size>,
                               std::vector<double>, std::vector<bool>>;

struct Operand {
  enum class Kind : std::uint8_t { tensor, tensors, attribute } kind = Kind::attribute;
  std::vector<ValueId> values;  // one for tensor, any number for tensors; −1: absent
  Attribute attribute;
};

// A tensor's number read into C++ while recording: booleans and integers are compared when the node has run.
struct ScalarRead {
  enum class Type : std::uint8_t { boolean, integer, real } type = Type::boolean;
  double expected = 0.0;
};

// One ATen call ("aten::mm", overload "" → "mm"; "add.Tensor") with its operands in schema order, or one of our own
// operators ("lathe::fused.3"). `backward`: reaches gradients only.
struct Node {
  std::string op;
  std::vector<Operand> operands;
  std::vector<ValueId> results;  // −1 where a result was undefined
  bool backward = false;
  std::int32_t draw = -1;  // index of the random state that it uses
  std::optional<ScalarRead> read;
};

struct OutputView {  // an output that is a view of an input, a parameter or another output: made outside, on the real one
  enum class Of : std::uint8_t { input, parameter, output } of = Of::input;
  std::int32_t output = 0, source = 0;  // places in Graph::outputs and in the list that `of` names
  std::vector<Size> sizes, strides;
  Size offset;  // from where the source begins, in elements
};

struct WriteBack {  // an input or buffer that the block wrote: committed last
  ValueId target = -1, value = -1;
};

struct Break {  // a data-dependent call
  std::int32_t node = 0;
  std::string op;
};

// The joint graph of one block call, forward and backward, functional (no node writes an operand), in order of
// execution. Invariants, checked by verify(): every value is defined once and read after; results carry the strides
// that the recording saw; each integer that varies with a size is a Size; backward nodes reach gradients only.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<Symbol> symbols;
  std::vector<ValueId> inputs, parameters, constants, tangents;
  std::vector<ValueId> outputs, input_gradients, parameter_gradients;  // gradients: −1 where none is asked for
  std::vector<OutputView> output_views;
  std::vector<WriteBack> write_backs;
  std::vector<Break> breaks;
  std::int32_t draw_count = 0;

  // Drops the nodes that are not marked; breaks and the node index of values follow. Values keep their ids. Returns
  // whether anything went.
  bool keep_only(const std::vector<bool>& keep);
};

}  // namespace lathe::ir
