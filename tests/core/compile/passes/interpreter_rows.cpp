#include <cmath>
#include <limits>

#include "core/compile/ir/operands.h"
#include "tests/core/compile/passes/interpreter_ops.h"

namespace lathe::testing {

namespace {

std::size_t at(std::int64_t position) {
  return static_cast<std::size_t>(position);
}

// Which dimensions of the operand the call reduces; none named: all.
std::vector<bool> reduced_dims(const Call& call, std::size_t position, std::size_t rank) {
  std::vector<bool> reduced(rank, false);
  const Index dims = call.integers(position);
  for (const std::int64_t dim : dims) reduced[at(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim)] = true;
  if (dims.empty()) reduced.assign(rank, true);
  return reduced;
}

// start ∘ x₁ ∘ x₂ … over the dimensions; calls finish(total, count) for each result.
void reduce(const Call& call, const std::vector<bool>& reduced, double start,
            const std::function<double(double, double)>& step, const std::function<double(double, double)>& finish) {
  const StridedArray& x = call.in(0);
  StridedArray result = call.result();
  Index kept_sizes;
  double count = 1;
  for (std::size_t dim = 0; dim < x.sizes.size(); ++dim) {
    kept_sizes.push_back(reduced[dim] ? 1 : x.sizes[dim]);
    if (reduced[dim]) count *= static_cast<double>(x.sizes[dim]);
  }
  const bool keeps = result.sizes.size() == x.sizes.size();
  StridedArray total = StridedArray::dense(ir::DType::f64, kept_sizes);
  for_each_index(kept_sizes, [&](const Index& index) { total.set(index, start); });
  for_each_index(x.sizes, [&](const Index& index) {
    const Index to = broadcast_index(index, kept_sizes);
    total.set(to, step(total.get(to), x.get(index)));
  });
  for_each_index(kept_sizes, [&](const Index& index) {
    Index to;
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      if (keeps || !reduced[dim]) to.push_back(index[dim]);
    }
    result.set(to, finish(total.get(index), count));
  });
  call.give(std::move(result));
}

double plus(double a, double b) {
  return a + b;
}
double itself(double total, double) {
  return total;
}

void sum(const Call& call, std::size_t dims) {
  reduce(call, reduced_dims(call, dims, call.in(0).sizes.size()), 0.0, plus, itself);
}
void mean(const Call& call, std::size_t dims) {
  reduce(call, reduced_dims(call, dims, call.in(0).sizes.size()), 0.0, plus,
         [](double total, double count) { return total / count; });
}

// Calls row(values) with each row along the last dimension of x and its index with 0 at the end.
void for_each_row(const StridedArray& x, const std::function<void(const Index&, std::vector<double>&)>& row) {
  Index outer = x.sizes;
  const std::int64_t length = outer.back();
  outer.back() = 1;
  for_each_index(outer, [&](const Index& index) {
    std::vector<double> values;
    Index place = index;
    for (std::int64_t i = 0; i < length; ++i) {
      place.back() = i;
      values.push_back(x.get(place));
    }
    row(index, values);
  });
}

void write_row(StridedArray& to, Index index, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    index.back() = static_cast<std::int64_t>(i);
    to.set(index, values[i]);
  }
}

void layer_norm(const Call& call) {
  StridedArray y = call.result();
  StridedArray mean = call.wants(1) ? call.result(1) : StridedArray{};
  StridedArray rstd = call.wants(2) ? call.result(2) : StridedArray{};
  for_each_row(call.in(0), [&](const Index& index, std::vector<double>& x) {
    double sum = 0, square = 0;
    const auto count = static_cast<double>(x.size());
    for (const double item : x) sum += item;
    for (const double item : x) square += (item - sum / count) * (item - sum / count);
    const double scale = 1.0 / std::sqrt(square / count + call.number(4));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto place = Index{static_cast<std::int64_t>(i)};
      x[i] = (x[i] - sum / count) * scale;
      if (call.has(2)) x[i] *= call.in(2).get(place);
      if (call.has(3)) x[i] += call.in(3).get(place);
    }
    write_row(y, index, x);
    if (call.wants(1)) mean.set(index, sum / count);
    if (call.wants(2)) rstd.set(index, scale);
  });
  call.give(std::move(y));
  if (call.wants(1)) call.give(std::move(mean), 1);
  if (call.wants(2)) call.give(std::move(rstd), 2);
}

void layer_norm_backward(const Call& call) {
  const StridedArray &gradient = call.in(0), &mean = call.in(3), &rstd = call.in(4);
  const auto length = at(call.in(1).sizes.back());
  StridedArray dx = call.wants(0) ? call.result(0) : StridedArray{};
  std::vector<double> dw(length, 0.0), db(length, 0.0);
  for_each_row(call.in(1), [&](const Index& index, std::vector<double>& x) {
    const double scale = rstd.get(index), middle = mean.get(index);
    std::vector<double> g(length);
    double sum = 0, slope = 0;
    for (std::size_t i = 0; i < length; ++i) {
      Index place = index;
      place.back() = static_cast<std::int64_t>(i);
      x[i] = (x[i] - middle) * scale;
      const double incoming = gradient.get(place);
      dw[i] += incoming * x[i];
      db[i] += incoming;
      g[i] = incoming * (call.has(5) ? call.in(5).get({static_cast<std::int64_t>(i)}) : 1.0);
      sum += g[i];
      slope += g[i] * x[i];
    }
    const auto count = static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) g[i] = scale * (g[i] - sum / count - x[i] * slope / count);
    if (call.wants(0)) write_row(dx, index, g);
  });
  if (call.wants(0)) call.give(std::move(dx));
  for (const std::size_t which : {std::size_t{1}, std::size_t{2}}) {
    if (!call.wants(which)) continue;
    StridedArray columns = call.result(which);
    write_row(columns, {0}, which == 1 ? dw : db);
    call.give(std::move(columns), which);
  }
}

void softmax(const Call& call) {
  const std::string_view name = ir::plain_name(call.node.op);
  StridedArray y = call.result();
  for_each_row(call.in(0), [&](const Index& index, std::vector<double>& x) {
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (const double item : x) largest = std::max(largest, item);
    for (const double item : x) total += std::exp(item - largest);
    for (double& item : x) {
      if (name == "_log_softmax") {
        item = item - largest - std::log(total);
      } else {
        item = name == "_safe_softmax" && std::isinf(largest) ? 0.0 : std::exp(item - largest) / total;
      }
    }
    write_row(y, index, x);
  });
  call.give(std::move(y));
}

void softmax_backward(const Call& call) {
  const bool logarithm = ir::plain_name(call.node.op) == "_log_softmax_backward_data";
  StridedArray dx = call.result();
  for_each_row(call.in(1), [&](const Index& index, std::vector<double>& y) {
    double total = 0;
    std::vector<double> g;
    for (std::size_t i = 0; i < y.size(); ++i) {
      Index place = index;
      place.back() = static_cast<std::int64_t>(i);
      g.push_back(call.in(0).get(place));
      total += logarithm ? g[i] : g[i] * y[i];
    }
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = logarithm ? g[i] - std::exp(y[i]) * total : y[i] * (g[i] - total);
    write_row(dx, index, y);
  });
  call.give(std::move(dx));
}

void running_sum(const Call& call) {
  StridedArray y = call.result();
  for_each_row(call.in(0), [&](const Index& index, std::vector<double>& x) {
    for (std::size_t i = 1; i < x.size(); ++i) x[i] += x[i - 1];
    write_row(y, index, x);
  });
  call.give(std::move(y));
}

void mse_loss(const Call& call) {
  const std::int64_t reduction = call.integer(2, 1);
  double total = 0;
  StridedArray y = call.result();
  for_each_index(call.in(0).sizes, [&](const Index& index) {
    const double difference = call.in(0).get(index) - call.in(1).get(index);
    if (reduction == 0) y.set(index, difference * difference);
    total += difference * difference;
  });
  if (reduction != 0) y.set({}, reduction == 1 ? total / static_cast<double>(call.in(0).count()) : total);
  call.give(std::move(y));
}

}  // namespace

const Rules& row_rules() {
  static const Rules rules = {
      {"sum", [](const Call& call) { sum(call, call.node.op == "sum" ? 99 : 1); }},
      {"mean", [](const Call& call) { mean(call, call.node.op == "mean" ? 99 : 1); }},
      {"amax",
       [](const Call& call) {
         reduce(
             call, reduced_dims(call, 1, call.in(0).sizes.size()), -std::numeric_limits<double>::infinity(),
             [](double a, double b) { return std::max(a, b); }, itself);
       }},
      {"linalg_vector_norm",
       [](const Call& call) {
         reduce(
             call, reduced_dims(call, 2, call.in(0).sizes.size()), 0.0, [](double a, double b) { return a + b * b; },
             [](double total, double) { return std::sqrt(total); });
       }},
      {"cumsum", running_sum},
      {"native_layer_norm", layer_norm},
      {"native_layer_norm_backward", layer_norm_backward},
      {"_softmax", softmax},
      {"_safe_softmax", softmax},
      {"_log_softmax", softmax},
      {"_softmax_backward_data", softmax_backward},
      {"_log_softmax_backward_data", softmax_backward},
      {"mse_loss", mse_loss},
  };
  return rules;
}

}  // namespace lathe::testing
