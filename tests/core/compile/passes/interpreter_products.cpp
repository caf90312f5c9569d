#include <cmath>

#include "core/compile/ir/operands.h"
#include "tests/core/compile/passes/interpreter_ops.h"

namespace lathe::testing {

namespace {

// result[…, i, j] = beta · start[…, i, j] + alpha · Σ a[…, i, k] · b[…, k, j].
void product(const Call& call, std::size_t left, double alpha, double beta) {
  const StridedArray &a = call.in(left), &b = call.in(left + 1);
  StridedArray result = call.result();
  for_each_index(result.sizes, [&](const Index& index) {
    Index at_a = index, at_b = index;
    double total = 0;
    for (std::int64_t k = 0; k < a.sizes.back(); ++k) {
      at_a.back() = k;
      at_b[at_b.size() - 2] = k;
      total += a.get(at_a) * b.get(at_b);
    }
    const double start = left == 0 ? 0.0 : beta * call.in(0).get(broadcast_index(index, call.in(0).sizes));
    result.set(index, start + alpha * total);
  });
  call.give(std::move(result));
}

// Softmax of one query's scores.
struct Attention {
  const StridedArray &q, &k;
  const StridedArray* mask;
  double scale;

  std::vector<double> weights(const Index& query, double* log_sum) const {
    std::vector<double> scores;
    double largest = -INFINITY, total = 0;
    for (std::int64_t key = 0; key < k.sizes[2]; ++key) {
      double score = 0;
      for (std::int64_t i = 0; i < q.sizes[3]; ++i)
        score += q.get({query[0], query[1], query[2], i}) * k.get({query[0], query[1], key, i});
      score *= scale;
      if (mask != nullptr) {
        const Index at = broadcast_index({query[0], query[1], query[2], key}, mask->sizes);
        score += mask->dtype == ir::DType::boolean ? (mask->get(at) != 0 ? 0.0 : -INFINITY) : mask->get(at);
      }
      scores.push_back(score);
      largest = std::max(largest, score);
    }
    for (double& score : scores) total += score = std::exp(score - largest);
    for (double& score : scores) score /= total;
    if (log_sum != nullptr) *log_sum = largest + std::log(total);
    return scores;
  }
};

double attention_scale(const Call& call, std::size_t position, const StridedArray& q) {
  return ir::number_at(call.node, position).value_or(1.0 / std::sqrt(static_cast<double>(q.sizes[3])));
}

void attention(const Call& call) {  // query, key, value, dropout, causal, mask, scale
  const StridedArray &q = call.in(0), &v = call.in(2);
  const Attention rule{q, call.in(1), call.has(5) ? &call.in(5) : nullptr, attention_scale(call, 6, q)};
  StridedArray out = call.result(0), log_sums = call.result(1);
  for_each_index({q.sizes[0], q.sizes[1], q.sizes[2]}, [&](const Index& query) {
    double log_sum = 0;
    const std::vector<double> weights = rule.weights(query, &log_sum);
    log_sums.set(query, log_sum);
    for (std::int64_t i = 0; i < v.sizes[3]; ++i) {
      double total = 0;
      for (std::size_t key = 0; key < weights.size(); ++key)
        total += weights[key] * v.get({query[0], query[1], static_cast<std::int64_t>(key), i});
      out.set({query[0], query[1], query[2], i}, total);
    }
  });
  call.give(std::move(out), 0);
  call.give(std::move(log_sums), 1);
}

void attention_backward(const Call& call) {  // gradient, q, k, v, out, logsumexp, dropout, causal, mask, scale
  const StridedArray &g = call.in(0), &q = call.in(1), &k = call.in(2), &v = call.in(3);
  const Attention rule{q, k, call.has(8) ? &call.in(8) : nullptr, attention_scale(call, 9, q)};
  StridedArray dq = StridedArray::dense(ir::DType::f64, q.sizes), dk = StridedArray::dense(ir::DType::f64, k.sizes),
               dv = StridedArray::dense(ir::DType::f64, v.sizes);
  for (StridedArray* array : {&dq, &dk, &dv})
    for_each_index(array->sizes, [&](const Index& index) { array->set(index, 0.0); });
  const auto add = [](StridedArray& to, const Index& index, double more) { to.set(index, to.get(index) + more); };
  for_each_index({q.sizes[0], q.sizes[1], q.sizes[2]}, [&](const Index& query) {
    const std::vector<double> weights = rule.weights(query, nullptr);
    std::vector<double> slopes(weights.size(), 0.0);
    double middle = 0;
    for (std::size_t key = 0; key < weights.size(); ++key) {
      const auto place = static_cast<std::int64_t>(key);
      for (std::int64_t i = 0; i < v.sizes[3]; ++i) {
        const double incoming = g.get({query[0], query[1], query[2], i});
        slopes[key] += incoming * v.get({query[0], query[1], place, i});
        add(dv, {query[0], query[1], place, i}, weights[key] * incoming);
      }
      middle += weights[key] * slopes[key];
    }
    for (std::size_t key = 0; key < weights.size(); ++key) {
      const auto place = static_cast<std::int64_t>(key);
      const double slope = weights[key] * (slopes[key] - middle) * rule.scale;
      for (std::int64_t i = 0; i < q.sizes[3]; ++i) {
        add(dq, {query[0], query[1], query[2], i}, slope * k.get({query[0], query[1], place, i}));
        add(dk, {query[0], query[1], place, i}, slope * q.get({query[0], query[1], query[2], i}));
      }
    }
  });
  std::size_t position = 0;
  for (const StridedArray* array : {&dq, &dk, &dv}) {
    StridedArray result = call.result(position);
    for_each_index(result.sizes, [&](const Index& index) { result.set(index, array->get(index)); });
    call.give(std::move(result), position++);
  }
}

}  // namespace

const Rules& product_rules() {
  static const Rules rules = {
      {"mm", [](const Call& call) { product(call, 0, 1.0, 0.0); }},
      {"bmm", [](const Call& call) { product(call, 0, 1.0, 0.0); }},
      {"addmm", [](const Call& call) { product(call, 1, call.number(4, 1.0), call.number(3, 1.0)); }},
      {"_scaled_dot_product_flash_attention_for_cpu", attention},
      {"_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward},
  };
  return rules;
}

}  // namespace lathe::testing
