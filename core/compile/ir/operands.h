#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compile/ir/graph.h"

namespace lathe::ir {

// Reading a node's operands by position. An operand that is missing at the end of the list reads like None.

// −1 where it is absent, None or no tensor.
ValueId tensor_at(const Node& node, std::size_t position);
// An integer without symbols, a real or a boolean.
std::optional<double> number_at(const Node& node, std::size_t position);
std::optional<Size> size_at(const Node& node, std::size_t position);
std::optional<std::int64_t> integer_at(const Node& node, std::size_t position);
bool flag_at(const Node& node, std::size_t position, bool otherwise = false);
std::string text_at(const Node& node, std::size_t position);
// A list of sizes; one size reads as a list of one.
std::optional<std::vector<Size>> sizes_at(const Node& node, std::size_t position);
std::optional<std::vector<std::int64_t>> integers_at(const Node& node, std::size_t position);

Operand tensor_operand(ValueId id);
Operand attribute_operand(Attribute attribute = {});

// Every value that the node reads, in order; absent ones left out.
template <class F>
void for_each_read(const Node& node, F&& visit) {
  for (const Operand& operand : node.operands) {
    for (const ValueId id : operand.values) {
      if (id >= 0) visit(id);
    }
  }
}

// Graphs may name ATen's operators with "aten::" or without. "aten::add.Tensor" → "add.Tensor"; names of other
// namespaces stay whole.
std::string_view local_name(std::string_view op);
// Without overload, too: "add".
std::string_view plain_name(std::string_view op);

}  // namespace lathe::ir
