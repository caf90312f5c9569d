#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathe::passes {

// Largest flow through a directed network by Dinic's method (Soviet Math. Doklady 11, 1970), for the cut of least
// capacity between source and sink.
class FlowNetwork {
 public:
  explicit FlowNetwork(std::size_t nodes) : edges_(nodes) {}

  static constexpr std::int64_t kUnlimited = INT64_MAX / 4;
  void add_edge(std::size_t from, std::size_t to, std::int64_t capacity);
  // Pushes all flow from source to sink; returns how much.
  std::int64_t run(std::size_t source, std::size_t sink);
  // After run(): which nodes lie beyond the cut, of all smallest cuts the one nearest to the sink.
  std::vector<bool> sink_side(std::size_t sink) const;

 private:
  struct Edge {
    std::size_t to = 0, back = 0;  // back: position of the opposite edge among those of `to`
    std::int64_t capacity = 0;
  };
  bool find_levels(std::size_t source, std::size_t sink);
  std::int64_t push(std::size_t node, std::size_t sink, std::int64_t limit);

  std::vector<std::vector<Edge>> edges_;
  std::vector<std::int32_t> level_;
  std::vector<std::size_t> next_;
};

}  // namespace lathe::passes
