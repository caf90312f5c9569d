#include "tests/core/compile/passes/program_runner.h"

#include <vector>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/codegen/cpu_emitter.h"
#include "core/compile/toolchain/host_build.h"
#include "tests/support/temporary_folder.h"

namespace lathe::testing {

struct ProgramRunner::Tools {
  TemporaryFolder folder;
  toolchain::KernelCache cache{folder.path() / "kernels"};
  std::optional<toolchain::HostCompiler> compiler = toolchain::find_host_compiler();
};

namespace {

// Where the plan puts values.
class Arena {
 public:
  Arena(const ir::MemoryPlan* plan, const Interpreter& values) : plan_(plan), values_(values) {
    if (plan == nullptr) return;
    const auto bytes = static_cast<std::size_t>(values.evaluate(plan->arena_bytes));
    memory_ = std::make_shared<std::vector<std::byte>>(bytes, std::byte{0xff});
  }

  StridedArray allocate(ir::ValueId id) const {
    StridedArray array = values_.allocate(id);
    if (plan_ == nullptr) return array;
    for (const ir::BufferPlan& buffer : plan_->buffers) {
      if (buffer.value != id) continue;
      const std::int64_t offset = (values_.evaluate(buffer.offset) + 63) / 64 * 64;
      array.memory = memory_;
      array.offset = offset / ir::byte_size(array.dtype);
    }
    return array;
  }

 private:
  const ir::MemoryPlan* plan_;
  const Interpreter& values_;
  std::shared_ptr<std::vector<std::byte>> memory_;
};

void run_kernel(const ir::KernelSpec& kernel, codegen::CpuKernel* function, Interpreter& values, const Arena& arena) {
  std::vector<void*> pointers;
  std::vector<StridedArray> outputs;
  for (const ir::ValueId id : kernel.inputs) pointers.push_back(values.get(id).first());
  for (const ir::ValueId id : kernel.outputs) {
    outputs.push_back(arena.allocate(id));
    pointers.push_back(outputs.back().first());
  }
  const std::int64_t row = values.evaluate(kernel.domain.back());
  std::int64_t outer = 1;
  for (std::size_t dim = 0; dim + 1 < kernel.domain.size(); ++dim) outer *= values.evaluate(kernel.domain[dim]);
  std::vector<float> scratch(static_cast<std::size_t>(codegen::row_buffers(kernel) * row + 1));
  pointers.push_back(scratch.data());
  std::vector<std::int64_t> symbols;
  for (const ir::SymbolId id : kernel.symbols) symbols.push_back(values.symbols()[static_cast<std::size_t>(id)]);
  symbols.push_back(0);  // an address even where there is none
  // In two parts, as threads would share it out.
  if (codegen::splits_row(kernel)) {
    function(pointers.data(), symbols.data(), 0, outer, 0, row / 2);
    function(pointers.data(), symbols.data(), 0, outer, row / 2, row);
  } else {
    function(pointers.data(), symbols.data(), 0, outer / 2, 0, row);
    function(pointers.data(), symbols.data(), outer / 2, outer, 0, row);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) values.set(kernel.outputs[i], std::move(outputs[i]));
}

}  // namespace

ProgramRunner::ProgramRunner() : tools_(std::make_unique<Tools>()) {}
ProgramRunner::~ProgramRunner() = default;

bool ProgramRunner::usable() const {
  return tools_->compiler.has_value();
}

void ProgramRunner::run(const ir::Program& program, Interpreter& values, const ir::MemoryPlan* plan) {
  const Arena arena(plan, values);
  std::optional<toolchain::BuiltKernels> built;
  if (!program.kernels.empty()) {
    built = toolchain::build_on_host(codegen::emit_cpu(program.kernels, values.graph().values), *tools_->compiler,
                                     tools_->cache);
    build_seconds_ += built->seconds;
  }
  for (const ir::Step& step : program.steps) {
    if (step.kind == ir::Step::Kind::kernel) {
      const ir::KernelSpec& kernel = program.kernels.at(static_cast<std::size_t>(step.index));
      run_kernel(kernel, built->library.function<codegen::CpuKernel>(kernel.name), values, arena);
    } else {
      values.run(values.graph().nodes.at(static_cast<std::size_t>(step.index)));
    }
    for (const ir::ValueId id : step.frees) {
      if (!values.has(id)) throw Error(ErrorKind::internal, format("%{} is freed and was never there", id));
      values.forget(id);
    }
  }
}

}  // namespace lathe::testing
