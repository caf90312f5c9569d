#include "core/compile/passes/memory_planner.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/shape.h"

namespace lathe::passes {

using ir::BufferPlan;
using ir::Size;
using ir::Step;
using ir::ValueId;

namespace {

constexpr std::int64_t kAlignment = 64;  // a cache line, and more than any vector access asks for

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// What the steps make and may be placed, with the steps between which each lives.
class Lifetimes {
 public:
  Lifetimes(const ir::Graph& graph, const ir::Program& program, const MemoryOptions& options)
      : graph_(graph), program_(program), options_(options) {
    std::vector<std::int32_t> last(graph.values.size(), -1);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      for (const ValueId id : program.steps[i].frees) last[at(id)] = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      for (const ValueId id : placeable(program.steps[i])) {
        if (last[at(id)] < 0 || depends_on_data(id)) continue;  // never freed: an output, or shown by one
        BufferPlan buffer;
        buffer.value = id;
        buffer.bytes = extent_bytes(graph.values[at(id)]);
        buffer.first = static_cast<std::int32_t>(i);
        buffer.last = last[at(id)];
        buffers_.push_back(std::move(buffer));
      }
    }
  }
  std::vector<BufferPlan> take() { return std::move(buffers_); }

 private:
  std::vector<ValueId> placeable(const Step& step) const {
    if (step.kind == Step::Kind::kernel) return program_.kernels[at(step.index)].outputs;
    if (step.kind == Step::Kind::view) return {};
    const ir::Node& node = graph_.nodes[at(step.index)];
    if (!options_.takes_place || !options_.takes_place(node)) return {};
    std::vector<ValueId> ids = node.results;
    std::erase(ids, -1);
    return ids;
  }

  // Up to the last element that the strides reach: more than the elements where the layout has gaps.
  static Size extent_bytes(const ir::Value& value) {
    if (ir::is_packed(value.sizes, value.strides)) return ir::byte_count(value);
    Size extent = 1;
    for (std::size_t dim = 0; dim < value.sizes.size(); ++dim)
      extent = extent + (value.sizes[dim] - Size(1)) * value.strides[dim];
    return extent * Size(ir::byte_size(value.dtype));
  }

  bool depends_on_data(ValueId id) const {
    for (const auto* list : {&graph_.values[at(id)].sizes, &graph_.values[at(id)].strides}) {
      for (const Size& size : *list) {
        for (const Size::Term& term : size.terms()) {
          for (const ir::SymbolId symbol : term.factors) {
            if (graph_.symbols[at(symbol)].from == ir::Symbol::From::data) return true;
          }
        }
      }
    }
    return false;
  }

  const ir::Graph& graph_;
  const ir::Program& program_;
  const MemoryOptions& options_;
  std::vector<BufferPlan> buffers_;
};

bool meet(const BufferPlan& a, const BufferPlan& b) {
  return a.first <= b.last && b.first <= a.last;
}

// First fit, the largest first: each at the lowest place where no buffer lies that lives at the same time.
ir::MemoryPlan place_numbers(std::vector<BufferPlan> buffers, const std::vector<std::int64_t>& symbols) {
  struct Placed {
    std::int64_t begin, end;
    std::size_t buffer;
  };
  std::vector<std::size_t> order(buffers.size());
  std::vector<std::int64_t> bytes(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    order[i] = i;
    bytes[i] = buffers[i].bytes.evaluate(symbols);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  std::vector<Placed> placed;  // by begin
  std::int64_t end = 0;
  for (const std::size_t i : order) {
    std::int64_t begin = 0;
    for (const Placed& other : placed) {
      if (!meet(buffers[i], buffers[other.buffer])) continue;
      if (begin + aligned(bytes[i]) <= other.begin) break;
      begin = std::max(begin, other.end);
    }
    const Placed here{begin, begin + aligned(bytes[i]), i};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  here);
    buffers[i].bytes = bytes[i];
    buffers[i].offset = begin;
    end = std::max(end, here.end);
  }
  return {std::move(buffers), Size(end)};
}

// Places one behind the other; a buffer takes over a free place that is at least as large for every size.
ir::MemoryPlan place_symbols(std::vector<BufferPlan> buffers, const ir::Graph& graph) {
  struct Place {
    Size bytes, offset;
    std::int32_t busy_until;
  };
  const std::vector<std::int64_t> hints = ir::hints(graph);
  std::vector<Place> places;
  Size end = 0;
  for (BufferPlan& buffer : buffers) {  // in order of their first step
    Place* best = nullptr;
    for (Place& place : places) {
      if (place.busy_until >= buffer.first) continue;
      const bool fits = place.bytes == buffer.bytes || ir::at_least(place.bytes - buffer.bytes, 0, graph.symbols);
      if (fits && (best == nullptr || place.bytes.evaluate(hints) < best->bytes.evaluate(hints))) best = &place;
    }
    if (best == nullptr) {
      places.push_back({buffer.bytes, end, -1});
      best = &places.back();
      end = end + buffer.bytes + Size(kAlignment);  // room to round the offset up
    }
    best->busy_until = buffer.last;
    buffer.offset = best->offset;
  }
  return {std::move(buffers), end};
}

}  // namespace

ir::MemoryPlan plan_memory(const ir::Graph& graph, const ir::Program& program, const MemoryOptions& options) {
  std::vector<BufferPlan> buffers = Lifetimes(graph, program, options).take();
  return options.symbols ? place_numbers(std::move(buffers), *options.symbols)
                         : place_symbols(std::move(buffers), graph);
}

bool has_out_form(const ir::Node& node) {
  constexpr std::array<std::string_view, 4> names = {"addmm", "baddbmm", "bmm", "mm"};
  return std::find(names.begin(), names.end(), ir::plain_name(node.op)) != names.end();
}

}  // namespace lathe::passes
