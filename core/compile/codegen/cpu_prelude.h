#pragma once

#include <string_view>

namespace lathe::codegen {

// C++ that stands before the kernels of every generated CPU source: element types, conversions, and exp, expm1, tanh,
// erf and sigmoid of f32 written so that compilers vectorise them (no branches, no library). Within 2 ulp of the exact
// value; the polynomials are minimax fits of our own. Includes nothing.
std::string_view cpu_prelude();

}  // namespace lathe::codegen
