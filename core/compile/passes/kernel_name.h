#pragma once

#include <string>
#include <vector>

#include "core/compile/ir/kernel_spec.h"

namespace lathe::passes {

// "k_mean_sub_mul_5f1c09a2b3d4e6f8": the first few operators, then a hash of all that shapes the code. Values and
// symbols count by position, so equal work on other values has the same name.
std::string kernel_name(const ir::KernelSpec& kernel, const std::vector<ir::Value>& values);

}  // namespace lathe::passes
