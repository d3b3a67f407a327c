#include "lakeproxy/iceberg/scan/file_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lakeproxy/iceberg/value/single_value.h"
#include "lakeproxy/iceberg/value/transform.h"

namespace lake::scan {
namespace {

using model::Literal;
using model::TransformKind;
using model::TypeKind;

constexpr Truths kAll = kIsTrue | kIsFalse | kIsNull;

bool is_floating(const model::Type& type) {
  return type.kind() == TypeKind::kFloat || type.kind() == TypeKind::kDouble;
}

bool is_nan(const Literal& value) {
  if (const auto* f = std::get_if<float>(&value)) return std::isnan(*f);
  if (const auto* d = std::get_if<double>(&value)) return std::isnan(*d);
  return false;
}

// Values of a partition that was written before its column's type was promoted.
std::optional<Literal> promoted(const Literal& value, const model::Type& type) {
  if (materialize::has_alternative_of(value, type)) return value;
  if (const auto* narrow = std::get_if<std::int32_t>(&value)) {
    if (type.kind() == TypeKind::kLong) return static_cast<std::int64_t>(*narrow);
  }
  if (const auto* narrow = std::get_if<float>(&value)) {
    if (type.kind() == TypeKind::kDouble) return static_cast<double>(*narrow);
  }
  return std::nullopt;
}

bool is_monotone(const model::Transform& transform) {
  switch (transform.kind) {
    case TransformKind::kIdentity:
    case TransformKind::kTruncate:
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay:
    case TransformKind::kHour: return true;
    default: return false;
  }
}

// The next whole value; types without one have the value itself, which is as far as one can go.
std::optional<Literal> step(const Literal& value, int by) {
  auto next = [by]<class T>(T number) -> std::optional<Literal> {
    const T end = by < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    if (number == end) return std::nullopt;
    return static_cast<T>(number + by);
  };
  if (const auto* number = std::get_if<std::int32_t>(&value)) return next(*number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return next(*number);
  if (const auto* number = std::get_if<model::Decimal>(&value)) {
    return model::Decimal{number->unscaled + by};
  }
  return value;
}

std::optional<Literal> transformed(const model::Transform& transform, const model::Type& source,
                                   const std::optional<Literal>& value) {
  if (!value) return std::nullopt;
  auto made = materialize::apply_transform(transform, source, value);
  return made ? std::move(*made) : std::nullopt;
}

Targets exact_targets(const Predicate& predicate) {
  Targets targets{.is_exact = true, .is_monotone = true};
  if (!predicate.values.empty()) targets.at = predicate.values.front();
  targets.in = predicate.values;
  return targets;
}

// Of a partition whose field transforms the predicate's column.
Targets targets_under(const Predicate& predicate, const model::Transform& transform) {
  Targets targets{.is_monotone = is_monotone(transform)};
  const bool is_set = predicate.op == Op::kIn || predicate.op == Op::kNotIn;
  if (!is_set && !predicate.values.empty()) {
    const Literal& value = predicate.values.front();
    targets.before = transformed(transform, predicate.source, step(value, -1));
    targets.at = transformed(transform, predicate.source, value);
    targets.after = transformed(transform, predicate.source, step(value, 1));
  }
  if (!is_set) return targets;
  std::vector<Literal> values;
  for (const Literal& value : predicate.values) {
    auto made = transformed(transform, predicate.source, value);
    if (!made) return targets;
    values.push_back(std::move(*made));
  }
  std::ranges::sort(values);
  targets.in = std::move(values);
  return targets;
}

bool is_prefix(Op op) { return op == Op::kStartsWith || op == Op::kNotStartsWith; }

// Nothing: the field says nothing about the predicate.
std::optional<Targets> targets_of(const Predicate& predicate, const model::PartitionField& field) {
  if (field.source_id != predicate.field_id || field.transform.kind == TransformKind::kVoid ||
      !model::can_transform(field.transform, predicate.source)) {
    return std::nullopt;
  }
  if (field.transform == predicate.transform) return exact_targets(predicate);
  if (predicate.transform.kind != TransformKind::kIdentity) return std::nullopt;
  const bool cuts = field.transform.kind == TransformKind::kTruncate;
  if (is_prefix(predicate.op) && !cuts) return std::nullopt;
  return targets_under(predicate, field.transform);
}

// Bounds of UUIDs were written in two orders by different writers.
bool has_ordered_bounds(const model::Type& type) { return type.kind() != TypeKind::kUuid; }

std::optional<Literal> bound_of(const std::optional<std::string>& bytes, const model::Type& type) {
  if (!bytes || !has_ordered_bounds(type)) return std::nullopt;
  auto value = materialize::decode_single_value(*bytes, type);
  if (!value || is_nan(*value)) return std::nullopt;
  return std::move(*value);
}

ValueRange range_of(const model::ColumnMetrics& metrics, const Predicate& predicate) {
  ValueRange range;
  range.lower = bound_of(metrics.lower_bound, predicate.source);
  range.upper = bound_of(metrics.upper_bound, predicate.source);
  // Writers differ in whether a struct that is NULL counts as NULLs of its fields.
  range.has_null = predicate.in_struct || metrics.null_count != 0;
  range.has_nan = is_floating(predicate.source) && metrics.nan_count != 0;
  if (metrics.value_count && metrics.null_count) {
    const bool only_null = *metrics.null_count == *metrics.value_count;
    if (only_null) range.has_nan = range.has_value = false;
    const std::int64_t nans = metrics.nan_count.value_or(0);
    if (*metrics.null_count + nans == *metrics.value_count) range.has_value = false;
  }
  return range;
}

ValueRange range_of(const std::optional<Literal>& value, const model::Type& type) {
  ValueRange range{.has_null = !value, .has_nan = false, .has_value = value.has_value()};
  if (!value) return range;
  if (is_nan(*value)) return {.has_null = false, .has_nan = true, .has_value = false};
  range.lower = promoted(*value, type);
  range.upper = range.lower;
  return range;
}

ValueRange range_of(const model::FieldSummary& summary, const model::Type& type) {
  ValueRange range;
  range.lower = bound_of(summary.lower_bound, type);
  range.upper = bound_of(summary.upper_bound, type);
  range.has_null = summary.contains_null;
  range.has_nan = is_floating(type) && summary.contains_nan.value_or(true);
  return range;
}

Truths conjunction(Truths a, Truths b) {
  Truths both = 0;
  if ((a & kIsTrue) != 0 && (b & kIsTrue) != 0) both |= kIsTrue;
  if ((a & kIsFalse) != 0 || (b & kIsFalse) != 0) both |= kIsFalse;
  // NULL where neither is false and one is NULL.
  if (((a & kIsNull) != 0 && (b & (kIsNull | kIsTrue)) != 0) ||
      ((b & kIsNull) != 0 && (a & kIsTrue) != 0)) {
    both |= kIsNull;
  }
  return both;
}

Truths negation(Truths truths) {
  Truths made = truths & kIsNull;
  if ((truths & kIsTrue) != 0) made |= kIsFalse;
  if ((truths & kIsFalse) != 0) made |= kIsTrue;
  return made;
}

// Both hold; where they contradict each other nothing is known.
Truths combined(Truths a, Truths b) { return (a & b) == 0 ? kAll : a & b; }

}  // namespace

FileFilter::FileFilter(const Filter& filter, const model::PartitionSpec& spec) : filter_(filter) {
  for (const Predicate& predicate : filter.predicates) {
    Prepared prepared{exact_targets(predicate), {}};
    for (std::size_t i = 0; i < spec.fields.size(); ++i) {
      const model::PartitionField& field = spec.fields[i];
      if (auto targets = targets_of(predicate, field)) {
        prepared.evidence.push_back(
            {i, model::result_type(field.transform, predicate.source), std::move(*targets)});
      }
    }
    prepared_.push_back(std::move(prepared));
  }
}

template <class Leaf>
Truths FileFilter::walk(const Node& node, const Leaf& leaf) const {
  switch (node.op) {
    case Op::kTrue: return kIsTrue;
    case Op::kFalse: return kIsFalse;
    case Op::kNot: return negation(walk(node.children[0], leaf));
    case Op::kAnd: return conjunction(walk(node.children[0], leaf), walk(node.children[1], leaf));
    case Op::kOr:
      return negation(conjunction(negation(walk(node.children[0], leaf)),
                                  negation(walk(node.children[1], leaf))));
    default: return leaf(node.predicate);
  }
}

Truths FileFilter::from_metrics(std::size_t index, const model::DataFile& file) const {
  const Predicate& predicate = filter_.predicates[index];
  auto found = file.metrics.find(predicate.field_id);
  if (found == file.metrics.end()) return kAll;
  ValueRange range = range_of(found->second, predicate);
  if (predicate.transform.kind != TransformKind::kIdentity) {
    const bool has_order = is_monotone(predicate.transform);
    range.lower =
        has_order ? transformed(predicate.transform, predicate.source, range.lower) : std::nullopt;
    range.upper =
        has_order ? transformed(predicate.transform, predicate.source, range.upper) : std::nullopt;
  }
  return truths_of(predicate, prepared_[index].own, range);
}

Truths FileFilter::from_partition(std::size_t index, const model::PartitionTuple& partition) const {
  Truths truths = kAll;
  for (const Evidence& evidence : prepared_[index].evidence) {
    if (evidence.position >= partition.size()) continue;
    const ValueRange range = range_of(partition[evidence.position], evidence.type);
    truths = combined(truths, truths_of(filter_.predicates[index], evidence.targets, range));
  }
  return truths;
}

Truths FileFilter::from_summaries(std::size_t index,
                                  const std::vector<model::FieldSummary>& summaries) const {
  Truths truths = kAll;
  for (const Evidence& evidence : prepared_[index].evidence) {
    if (evidence.position >= summaries.size()) continue;
    const ValueRange range = range_of(summaries[evidence.position], evidence.type);
    truths = combined(truths, truths_of(filter_.predicates[index], evidence.targets, range));
  }
  return truths;
}

bool FileFilter::may_match(const model::ManifestFile& manifest) const {
  auto leaf = [&](std::size_t index) { return from_summaries(index, manifest.partitions); };
  return (walk(filter_.root, leaf) & kIsTrue) != 0;
}

bool FileFilter::may_match(const model::DataFile& file) const {
  if (file.record_count == 0) return false;
  auto leaf = [&](std::size_t index) {
    return combined(from_partition(index, file.partition), from_metrics(index, file));
  };
  return (walk(filter_.root, leaf) & kIsTrue) != 0;
}

// Appends what is left of "and" or "or", or says that it is true or false for each row.
std::optional<bool> FileFilter::write_both(const Node& node, const model::PartitionTuple& partition,
                                           std::string& out) const {
  const bool is_and = node.op == Op::kAnd;
  std::string left;
  std::string right;
  const auto known_left = write_rest(node.children[0], partition, left);
  const auto known_right = write_rest(node.children[1], partition, right);
  // What decides, and what changes nothing.
  if (known_left == !is_and || known_right == !is_and) return !is_and;
  if (known_left && known_right) return is_and;
  if (known_left || known_right) {
    out += known_left ? right : left;
    return std::nullopt;
  }
  out += is_and ? R"({"type":"and","left":)" : R"({"type":"or","left":)";
  out += left + R"(,"right":)" + right + "}";
  return std::nullopt;
}

// The same of any node.
std::optional<bool> FileFilter::write_rest(const Node& node, const model::PartitionTuple& partition,
                                           std::string& out) const {
  switch (node.op) {
    case Op::kTrue: return true;
    case Op::kFalse: return false;
    case Op::kAnd:
    case Op::kOr: return write_both(node, partition, out);
    case Op::kNot: {
      std::string child;
      if (auto known = write_rest(node.children[0], partition, child)) return !*known;
      out += R"({"type":"not","child":)" + child + "}";
      return std::nullopt;
    }
    default: break;
  }
  const Truths truths = from_partition(node.predicate, partition);
  if (truths == kIsTrue) return true;
  if (truths == kIsFalse) return false;
  out += filter_.predicates[node.predicate].json;
  return std::nullopt;
}

std::string FileFilter::residual(const model::PartitionTuple& partition) const {
  std::string rest;
  if (auto known = write_rest(filter_.root, partition, rest)) return *known ? "true" : "false";
  return rest;
}

}  // namespace lake::scan
