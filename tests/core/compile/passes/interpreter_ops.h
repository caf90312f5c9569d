#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "tests/core/compile/passes/interpreter.h"

namespace lathe::testing {

// What an operator's rule works with.
struct Call {
  Interpreter& interpreter;
  const ir::Node& node;

  bool has(std::size_t position) const;
  const StridedArray& in(std::size_t position) const;
  double number(std::size_t position, double otherwise = 0.0) const;
  std::int64_t integer(std::size_t position, std::int64_t otherwise = 0) const;
  // A dimension counted from the front.
  std::int64_t dim(std::size_t position, std::size_t rank, std::int64_t otherwise = 0) const;
  Index integers(std::size_t position) const;

  StridedArray result(std::size_t position = 0) const;  // memory for it
  void give(StridedArray array, std::size_t position = 0) const;
  bool wants(std::size_t position) const;
};

using Rule = std::function<void(const Call&)>;
using Rules = std::map<std::string_view, Rule>;

const Rules& view_rules();
const Rules& pointwise_rules();
const Rules& row_rules();       // reductions, norms, softmax
const Rules& product_rules();   // products and attention
const Rules& movement_rules();  // cat, pad, factories

}  // namespace lathe::testing
