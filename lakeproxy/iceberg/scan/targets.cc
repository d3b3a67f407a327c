// The values of a predicate as a transform of its column has them, and what follows from a range of
// such values.

#include <algorithm>
#include <limits>

#include "lakeproxy/iceberg/scan/file_filter.h"

namespace lake::scan {
namespace {

using model::Literal;

constexpr Truths kAll = kIsTrue | kIsFalse | kIsNull;

bool is_comparable(const std::optional<Literal>& a, const std::optional<Literal>& b) {
  return a && b && a->index() == b->index();
}

// Unknown ends are below and above everything.
bool may_be_less(const std::optional<Literal>& a, const std::optional<Literal>& b) {
  return !is_comparable(a, b) || *a < *b;
}
bool may_be_at_most(const std::optional<Literal>& a, const std::optional<Literal>& b) {
  return !is_comparable(a, b) || *a <= *b;
}
bool is_surely_equal(const std::optional<Literal>& a, const std::optional<Literal>& b) {
  return is_comparable(a, b) && *a == *b;
}

Truths of(bool may_be_true, bool may_be_false) {
  return static_cast<Truths>((may_be_true ? kIsTrue : 0) | (may_be_false ? kIsFalse : 0));
}

Truths inverse(Truths truths) {
  return of((truths & kIsFalse) != 0, (truths & kIsTrue) != 0) | (truths & kIsNull);
}

// Of a value that the column's type cannot hold: all values lie on one side of it.
Truths beyond(Op op, Place place) {
  const bool is_above = place == Place::kAbove;
  switch (op) {
    case Op::kLt:
    case Op::kLtEq: return of(is_above, !is_above);
    case Op::kGt:
    case Op::kGtEq: return of(!is_above, is_above);
    case Op::kNotEq: return kIsTrue;
    default: return kIsFalse;
  }
}

Truths less(const Targets& targets, const ValueRange& range) {
  const bool may_be_true = targets.is_exact ? may_be_less(range.lower, targets.at)
                                            : may_be_at_most(range.lower, targets.before);
  return of(may_be_true, may_be_at_most(targets.at, range.upper));
}

Truths at_most(const Targets& targets, const ValueRange& range) {
  const bool may_be_false = targets.is_exact ? may_be_less(targets.at, range.upper)
                                             : may_be_at_most(targets.after, range.upper);
  return of(may_be_at_most(range.lower, targets.at), may_be_false);
}

Truths equal(const Targets& targets, const ValueRange& range) {
  const bool is_all = targets.is_exact && is_surely_equal(range.lower, targets.at) &&
                      is_surely_equal(range.upper, targets.at);
  return of(may_be_at_most(range.lower, targets.at) && may_be_at_most(targets.at, range.upper),
            !is_all);
}

Truths one_of(const Targets& targets, const ValueRange& range) {
  if (!targets.in) return of(true, true);
  const auto& values = *targets.in;
  const bool is_single = is_comparable(range.lower, range.upper) && *range.lower == *range.upper;
  auto first = values.begin();
  if (range.lower && !values.empty() && range.lower->index() == values.front().index()) {
    first = std::ranges::lower_bound(values, *range.lower);
  }
  const bool may_be_true = first != values.end() && may_be_at_most(*first, range.upper);
  const bool is_all = targets.is_exact && is_single && first != values.end() &&
                      is_surely_equal(*first, range.lower);
  return of(may_be_true, !is_all);
}

// `targets.at` may be cut to what a truncation keeps of the prefix; that is enough to rule a range
// out, and not to say that all of it begins so.
Truths begins(const Predicate& predicate, const Targets& targets, const ValueRange& range) {
  const auto* cut = targets.at ? std::get_if<std::string>(&*targets.at) : nullptr;
  const auto* prefix = std::get_if<std::string>(&predicate.values.front());
  const auto* lower = range.lower ? std::get_if<std::string>(&*range.lower) : nullptr;
  const auto* upper = range.upper ? std::get_if<std::string>(&*range.upper) : nullptr;
  if (cut == nullptr || prefix == nullptr) return of(true, true);
  const std::string_view start(*cut);
  const bool is_below =
      upper != nullptr && std::string_view(*upper).substr(0, start.size()) < start;
  const bool is_above =
      lower != nullptr && std::string_view(*lower).substr(0, start.size()) > start;
  const bool is_all = lower != nullptr && upper != nullptr && lower->starts_with(*prefix) &&
                      upper->starts_with(*prefix);
  return of(!is_below && !is_above, !is_all);
}

Truths of_values(const Predicate& predicate, const Targets& targets, const ValueRange& range) {
  switch (predicate.op) {
    case Op::kIsNull:
    case Op::kIsNan: return kIsFalse;
    case Op::kNotNull:
    case Op::kNotNan: return kIsTrue;
    default: break;
  }
  if (predicate.place != Place::kInside) return beyond(predicate.op, predicate.place);
  const bool is_order = predicate.op >= Op::kLt && predicate.op <= Op::kGtEq;
  if (is_order && !targets.is_monotone) return of(true, true);
  switch (predicate.op) {
    case Op::kLt: return less(targets, range);
    case Op::kGtEq: return inverse(less(targets, range));
    case Op::kLtEq: return at_most(targets, range);
    case Op::kGt: return inverse(at_most(targets, range));
    case Op::kEq: return equal(targets, range);
    case Op::kNotEq: return inverse(equal(targets, range));
    case Op::kIn: return one_of(targets, range);
    case Op::kNotIn: return inverse(one_of(targets, range));
    case Op::kStartsWith: return begins(predicate, targets, range);
    default: return inverse(begins(predicate, targets, range));
  }
}

// SQL's answer is NULL. Others count NULL as a value that equals nothing, and is below everything.
Truths of_null(Op op) {
  switch (op) {
    case Op::kIsNull: return kIsTrue;
    case Op::kNotNull: return kIsFalse;
    case Op::kNotNan:
    case Op::kNotEq:
    case Op::kNotIn:
    case Op::kNotStartsWith: return kIsTrue | kIsNull;
    default: return kIsFalse | kIsNull;
  }
}

// To some engines NaN is above everything, to others it compares with nothing.
Truths of_nan(Op op) {
  switch (op) {
    case Op::kIsNan:
    case Op::kNotNull:
    case Op::kNotEq:
    case Op::kNotIn: return kIsTrue;
    case Op::kGt:
    case Op::kGtEq: return kIsTrue | kIsFalse;
    default: return kIsFalse;
  }
}

}  // namespace

Truths truths_of(const Predicate& predicate, const Targets& targets, const ValueRange& range) {
  Truths truths = 0;
  if (range.has_null) truths |= of_null(predicate.op);
  if (range.has_nan) truths |= of_nan(predicate.op);
  if (range.has_value) truths |= of_values(predicate, targets, range);
  // No row at all: what is known contradicts itself, so nothing is known.
  return truths == 0 ? kAll : truths;
}

}  // namespace lake::scan
