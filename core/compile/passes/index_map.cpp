#include "core/compile/passes/index_map.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/base/format.h"
#include "core/compile/ir/operands.h"
#include "core/compile/ir/shape.h"

namespace lathe::passes {

using ir::Size;

namespace {

bool is_negative(const Size& size) {
  return !size.terms().empty() && size.terms().front().numerator < 0;
}

// a / b where that is whole for all symbols; Size's own quotient may be a fraction of a symbol.
std::optional<Size> whole_quotient(const Size& a, const Size& b) {
  if (b == Size(1)) return a;
  const auto quotient = a.divided_by(b);
  if (!quotient) return std::nullopt;
  std::int64_t denominators = 1;
  for (const Size::Term& term : a.terms()) denominators = std::lcm(denominators, term.denominator);
  for (const Size::Term& term : quotient->terms()) {
    if (denominators % term.denominator != 0) return std::nullopt;
  }
  return quotient;
}

// Writes one index over the product of `sizes` as an index for each of them.
class Splitter {
 public:
  Splitter(const Affine& linear, std::span<const Size> sizes, const Domain& domain)
      : linear_(linear), sizes_(sizes), domain_(domain), inner_(sizes.size(), Size(1)), result_(sizes.size()) {
    for (std::size_t i = sizes.size(); i-- > 1;) inner_[i - 1] = inner_[i] * sizes[i];
  }

  IndexMap run() {
    for (const auto& [dim, coefficient] : linear_.terms) place(dim, coefficient);
    place_offset();
    for (std::size_t i = 1; i < sizes_.size(); ++i) check(i);
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse() const { throw Refused{"a reshape mixes dimensions"}; }

  void place(std::int32_t dim, const Size& coefficient) {
    if (is_negative(coefficient)) refuse();
    const Size& extent = domain_.sizes[static_cast<std::size_t>(dim)];
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const auto step = whole_quotient(coefficient, inner_[i]);
      if (!step) continue;
      if (i > 0 && domain_.hint(*step * extent) > domain_.hint(sizes_[i])) {  // it runs on into the dimension before
        const auto part = whole_quotient(sizes_[i], *step);
        const auto rest = part ? whole_quotient(extent, *part) : std::nullopt;
        if (!rest || *part == Size(1)) refuse();
        throw SplitNeeded{dim, *rest, *part};
      }
      result_[i].terms.emplace_back(dim, *step);
      return;
    }
    refuse();
  }

  void place_offset() {
    Size left = linear_.offset;
    if (left == Size(0)) return;
    for (std::size_t i = 0; i < sizes_.size() && !(left == Size(0)); ++i) {
      const auto total = left.constant(), step = inner_[i].constant();
      if (total && step && *step > 0) {
        result_[i].offset = Size(*total / *step);
        left = Size(*total % *step);
      } else if (const auto whole = whole_quotient(left, inner_[i])) {
        result_[i].offset = *whole;
        left = Size(0);
      }
    }
    if (!(left == Size(0))) refuse();
  }

  // The largest index must lie inside, else a carry into the dimension before would be lost.
  void check(std::size_t i) const {
    Size room = sizes_[i] - Size(1) - result_[i].offset;
    for (const auto& [dim, step] : result_[i].terms)
      room = room - step * (domain_.sizes[static_cast<std::size_t>(dim)] - Size(1));
    if (!(room == Size(0)) && !ir::at_least(room, 0, domain_.symbols)) refuse();
  }

  const Affine& linear_;
  std::span<const Size> sizes_;
  const Domain& domain_;
  std::vector<Size> inner_;
  IndexMap result_;
};

// Dimensions of `from` and of `to` that hold the same elements: [2, 3·4] and [2, 3, 4] are {2}{2} and {12}{3, 4}.
class Segments {
 public:
  Segments(const std::vector<Size>& from, const std::vector<Size>& to, const Domain& domain)
      : from_(from), to_(to), domain_(domain) {}

  // Next pair of ranges; false at the end.
  bool next() {
    from_begin_ = from_end_;
    to_begin_ = to_end_;
    skip_ones();
    if (from_begin_ == from_.size() && to_begin_ == to_.size()) return false;
    if (from_begin_ == from_.size() || to_begin_ == to_.size()) throw Refused{"a reshape changes the element count"};
    Size a = from_[from_end_++], b = to_[to_end_++];
    while (!(a == b)) {
      if (domain_.hint(a) < domain_.hint(b) && from_end_ < from_.size()) {
        a = a * from_[from_end_++];
      } else if (domain_.hint(a) > domain_.hint(b) && to_end_ < to_.size()) {
        b = b * to_[to_end_++];
      } else {
        throw Refused{"a reshape mixes dimensions"};
      }
    }
    return true;
  }
  std::size_t from_begin() const { return from_begin_; }
  std::size_t from_end() const { return from_end_; }
  std::size_t to_begin() const { return to_begin_; }
  std::size_t to_end() const { return to_end_; }

 private:
  void skip_ones() {
    while (from_begin_ < from_.size() && from_[from_begin_] == Size(1)) ++from_begin_;
    while (to_begin_ < to_.size() && to_[to_begin_] == Size(1)) ++to_begin_;
    from_end_ = from_begin_;
    to_end_ = to_begin_;
  }
  const std::vector<Size>&from_, &to_;
  const Domain& domain_;
  std::size_t from_begin_ = 0, from_end_ = 0, to_begin_ = 0, to_end_ = 0;
};

// The start of slice, narrow: counted from the front.
Size from_front(const Size& place, const Size& size) {
  const auto constant = place.constant();
  return constant && *constant < 0 ? place + size : place;
}

IndexMap pull_slice(const ir::Node& view, const IndexMap& map, const std::vector<Size>& from) {
  IndexMap result = map;
  const std::size_t dim = dimension(ir::integer_at(view, 1).value_or(0), from.size());
  const bool narrow = ir::plain_name(view.op) == "narrow";
  const Size start = from_front(ir::size_at(view, 2).value_or(Size(0)), from[dim]);
  const Size step = narrow ? Size(1) : ir::size_at(view, 4).value_or(Size(1));
  Affine index;
  index.offset = start;
  result[dim] = add_scaled(index, map[dim], step);
  return result;
}

IndexMap pull_split(const ir::Node& view, std::size_t which, const IndexMap& map, const std::vector<Size>& from) {
  IndexMap result = map;
  const std::size_t dim = dimension(ir::integer_at(view, 2).value_or(0), from.size());
  const auto pieces = ir::sizes_at(view, 1);
  if (!pieces || pieces->empty()) throw Refused{"a split without sizes"};
  const bool by_list = ir::plain_name(view.op) == "split_with_sizes";
  Size start = 0;
  for (std::size_t i = 0; i < which; ++i) start = start + (by_list ? (*pieces)[i] : pieces->front());
  result[dim].offset = result[dim].offset + start;
  return result;
}

IndexMap pull_squeeze(const ir::Graph& graph, const ir::Node& view, const IndexMap& map,
                      const std::vector<Size>& from) {
  IndexMap result;
  const auto& shown = graph.values[static_cast<std::size_t>(view.results[0])].sizes;
  std::vector<bool> named(from.size(), true);
  if (const auto dims = ir::integers_at(view, 1)) {
    named.assign(from.size(), false);
    for (const std::int64_t dim : *dims) named[dimension(dim, from.size())] = true;
  }
  std::size_t next = 0;
  for (std::size_t dim = 0; dim < from.size(); ++dim) {
    const bool dropped = named[dim] && from[dim] == Size(1);
    result.push_back(dropped || next >= shown.size() ? Affine{} : map[next]);
    if (!dropped) ++next;
  }
  if (next != shown.size()) throw Refused{"a squeeze of unknown sizes"};
  return result;
}

IndexMap pull_permute(const ir::Node& view, const IndexMap& map) {
  IndexMap result(map.size());
  const std::string_view name = ir::plain_name(view.op);
  std::vector<std::size_t> order(map.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (name == "permute") {
    const auto dims = ir::integers_at(view, 1);
    if (!dims || dims->size() != map.size()) throw Refused{"a permutation of unknown order"};
    for (std::size_t i = 0; i < dims->size(); ++i) order[i] = dimension((*dims)[i], map.size());
  } else if (map.size() > 1) {
    const bool t = name == "t";
    std::swap(order[dimension(t ? 0 : ir::integer_at(view, 1).value_or(0), map.size())],
              order[dimension(t ? 1 : ir::integer_at(view, 2).value_or(0), map.size())]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = map[i];
  return result;
}

IndexMap pull_select(const ir::Node& view, const IndexMap& map, const std::vector<Size>& from) {
  IndexMap result = map;
  const std::size_t dim = dimension(ir::integer_at(view, 1).value_or(0), from.size());
  Affine place;
  place.offset = from_front(ir::size_at(view, 2).value_or(Size(0)), from[dim]);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(dim), place);
  return result;
}

}  // namespace

Size Affine::coefficient(std::int32_t dim) const {
  for (const auto& [at, coefficient] : terms) {
    if (at == dim) return coefficient;
  }
  return 0;
}

Affine index_of(std::int32_t dim) {
  Affine affine;
  affine.terms.emplace_back(dim, Size(1));
  return affine;
}

Affine add_scaled(const Affine& a, const Affine& b, const Size& factor) {
  if (factor == Size(0) || b.is_zero()) return a;
  const bool plain = factor == Size(1);
  Affine sum;
  sum.offset = b.offset == Size(0) ? a.offset : a.offset + (plain ? b.offset : b.offset * factor);
  std::size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first)) {
      sum.terms.push_back(a.terms[i++]);
      continue;
    }
    const auto& [dim, coefficient] = b.terms[j++];
    Size scaled = plain ? coefficient : coefficient * factor;
    if (i < a.terms.size() && a.terms[i].first == dim) scaled = scaled + a.terms[i++].second;
    if (!(scaled == Size(0))) sum.terms.emplace_back(dim, std::move(scaled));
  }
  return sum;
}

IndexMap reshape_map(const IndexMap& map, const std::vector<Size>& from, const std::vector<Size>& to,
                     const Domain& domain) {
  if (from == to) return map;
  IndexMap result(to.size());
  Segments segments(from, to, domain);
  while (segments.next()) {
    Affine linear;
    Size stride = 1;
    for (std::size_t i = segments.from_end(); i-- > segments.from_begin();) {
      linear = add_scaled(linear, map[i], stride);
      if (i > segments.from_begin()) stride = stride * from[i];
    }
    const std::size_t begin = segments.to_begin(), count = segments.to_end() - begin;
    if (count == 1) {
      result[begin] = std::move(linear);
      continue;
    }
    IndexMap parts = Splitter(linear, std::span(to).subspan(begin, count), domain).run();
    std::move(parts.begin(), parts.end(), result.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return result;
}

IndexMap pull_through_view(const ir::Graph& graph, const ir::Node& view, std::size_t result, const IndexMap& map,
                           const Domain& domain) {
  const std::string_view name = ir::plain_name(view.op);
  const auto& from = graph.values[static_cast<std::size_t>(ir::tensor_at(view, 0))].sizes;
  const auto& shown = graph.values[static_cast<std::size_t>(view.results[result])].sizes;
  if (name == "alias" || name == "detach" || name == "lift_fresh") return map;
  if (name == "view" || name == "_unsafe_view" || name == "_reshape_alias" || name == "reshape")
    return reshape_map(map, shown, from, domain);
  if (name == "expand") return broadcast_map(map, from);
  if (name == "t" || name == "transpose" || name == "permute") return pull_permute(view, map);
  if (name == "unsqueeze") {
    IndexMap operand = map;
    operand.erase(operand.begin() +
                  static_cast<std::ptrdiff_t>(dimension(ir::integer_at(view, 1).value_or(0), map.size())));
    return operand;
  }
  if (name == "squeeze") return pull_squeeze(graph, view, map, from);
  if (name == "slice" || name == "narrow") return pull_slice(view, map, from);
  if (name == "select") return pull_select(view, map, from);
  if (name == "split" || name == "split_with_sizes") return pull_split(view, result, map, from);
  throw Refused{format("{} is no index map", view.op)};
}

IndexMap broadcast_map(const IndexMap& map, const std::vector<Size>& operand_sizes) {
  IndexMap result(operand_sizes.size());
  if (operand_sizes.size() > map.size()) throw Refused{"an operand has more dimensions than the result"};
  const std::size_t ahead = map.size() - operand_sizes.size();
  for (std::size_t dim = 0; dim < operand_sizes.size(); ++dim) {
    if (!(operand_sizes[dim] == Size(1))) result[dim] = map[dim + ahead];
  }
  return result;
}

bool covers(const IndexMap& map, const std::vector<Size>& sizes, const Domain& domain, std::size_t dims) {
  std::vector<bool> used(domain.sizes.size(), false);
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (!(map[i].offset == Size(0))) return false;
    // Digits of a mixed radix: each step is the product of the extents of the finer ones.
    auto terms = map[i].terms;
    Size expected = 1;
    while (!terms.empty()) {
      const auto finest =
          std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return term.second == expected; });
      if (finest == terms.end()) return false;
      const auto dim = static_cast<std::size_t>(finest->first);
      if (dim >= dims || used[dim]) return false;
      used[dim] = true;
      expected = expected * domain.sizes[dim];
      terms.erase(finest);
    }
    if (!(expected == sizes[i])) return false;
  }
  for (std::size_t dim = 0; dim < dims; ++dim) {
    if (!used[dim] && !(domain.sizes[dim] == Size(1))) return false;
  }
  return true;
}

std::size_t dimension(std::int64_t dim, std::size_t rank) {
  return static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim);
}

}  // namespace lathe::passes
