#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/compile/ir/program.h"
#include "tests/core/compile/passes/interpreter.h"

namespace lathe::testing {

// Builds the kernels of programs with the host compiler and runs programs: library calls and views by the interpreter,
// kernels as they are. What a step frees is forgotten, so that a value freed too early is missed.
class ProgramRunner {
 public:
  ProgramRunner();
  ~ProgramRunner();
  bool usable() const;  // whether there is a compiler

  // Values that are read must be set in the interpreter; those that are made are set in it. With a plan, what kernels
  // make lies where the plan says, in one arena filled with NaN.
  void run(const ir::Program& program, Interpreter& values, const ir::MemoryPlan* plan = nullptr);
  double build_seconds() const { return build_seconds_; }

 private:
  struct Tools;
  std::unique_ptr<Tools> tools_;
  double build_seconds_ = 0.0;
};

}  // namespace lathe::testing
