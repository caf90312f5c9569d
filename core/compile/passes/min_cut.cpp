#include "core/compile/passes/min_cut.h"

#include <algorithm>

namespace lathe::passes {

void FlowNetwork::add_edge(std::size_t from, std::size_t to, std::int64_t capacity) {
  edges_[from].push_back({to, edges_[to].size(), capacity});
  edges_[to].push_back({from, edges_[from].size() - 1, 0});
}

bool FlowNetwork::find_levels(std::size_t source, std::size_t sink) {
  level_.assign(edges_.size(), -1);
  level_[source] = 0;
  std::vector<std::size_t> queue = {source};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const Edge& edge : edges_[queue[i]]) {
      if (edge.capacity <= 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[queue[i]] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[sink] >= 0;
}

std::int64_t FlowNetwork::push(std::size_t node, std::size_t sink, std::int64_t limit) {
  if (node == sink) return limit;
  for (std::size_t& i = next_[node]; i < edges_[node].size(); ++i) {
    Edge& edge = edges_[node][i];
    if (edge.capacity <= 0 || level_[edge.to] != level_[node] + 1) continue;
    const std::int64_t pushed = push(edge.to, sink, std::min(limit, edge.capacity));
    if (pushed == 0) continue;
    edge.capacity -= pushed;
    edges_[edge.to][edge.back].capacity += pushed;
    return pushed;
  }
  return 0;
}

std::int64_t FlowNetwork::run(std::size_t source, std::size_t sink) {
  std::int64_t total = 0;
  while (find_levels(source, sink)) {
    next_.assign(edges_.size(), 0);
    while (const std::int64_t pushed = push(source, sink, kUnlimited)) total += pushed;
  }
  return total;
}

std::vector<bool> FlowNetwork::sink_side(std::size_t sink) const {
  std::vector<bool> reaches(edges_.size(), false);
  reaches[sink] = true;
  std::vector<std::size_t> queue = {sink};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const Edge& edge : edges_[queue[i]]) {
      const bool open = edges_[edge.to][edge.back].capacity > 0;  // from edge.to to here
      if (!open || reaches[edge.to]) continue;
      reaches[edge.to] = true;
      queue.push_back(edge.to);
    }
  }
  return reaches;
}

}  // namespace lathe::passes
