#pragma once

// Which files of a table can hold a row that a filter keeps. A file is left out only where no row
// of it can match, whichever engine reads it: engines differ in what a comparison with NULL or NaN
// is, so such a row counts with every value that one of them gives it.
//
// What is known of a file's rows comes from two sides: the bounds and counts of a column, and its
// partition values, each of which is a range of what a transform makes of the column. A predicate
// is tried against each of these ranges on its own, and what all of them allow is what can be.
// Source: Iceberg table specification, "Scan Planning".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/scan/expression.h"

namespace lake::scan {

/// The values that a predicate can have, over the rows of a file: a set of these.
enum Truth : std::uint8_t { kIsTrue = 1, kIsFalse = 2, kIsNull = 4 };
using Truths = std::uint8_t;

/// What is known of the values of a term in a file.
struct ValueRange {
  std::optional<model::Literal> lower;  ///< No value is below; nothing: unknown.
  std::optional<model::Literal> upper;
  bool has_null = true;   ///< May have.
  bool has_nan = true;    ///< May have; bounds say nothing of it.
  bool has_value = true;  ///< May have one that is neither.
};

/// The values of a predicate, as a transform of the column has them.
struct Targets {
  bool is_exact = false;     ///< The term's own values: equal ones are the same.
  bool is_monotone = false;  ///< A larger value is not made into a smaller one.
  /// Each nothing where the transform has none.
  std::optional<model::Literal> before;  ///< Of the greatest value below the predicate's.
  std::optional<model::Literal> at;      ///< Of the predicate's.
  std::optional<model::Literal> after;   ///< Of the least value above it.
  /// Of "in": rising. Nothing: unknown.
  std::optional<std::vector<model::Literal>> in;
};

/// A predicate's values over rows of which that is known.
[[nodiscard]] Truths truths_of(const Predicate& predicate, const Targets& targets,
                               const ValueRange& range);

/// A filter for the files of one partition spec. `filter` outlives it; it never changes, so
/// threads may share it.
class FileFilter {
 public:
  FileFilter(const Filter& filter, const model::PartitionSpec& spec);

  /// Whether a file of the manifest can hold a row of the filter's.
  [[nodiscard]] bool may_match(const model::ManifestFile& manifest) const;
  /// Whether the file can.
  [[nodiscard]] bool may_match(const model::DataFile& file) const;
  /// What is left to be checked for each row of a file with that partition, as JSON.
  [[nodiscard]] std::string residual(const model::PartitionTuple& partition) const;

 private:
  // A partition field that says something about a predicate.
  struct Evidence {
    std::size_t position;  ///< In the spec.
    model::Type type;      ///< Of the partition's values.
    Targets targets;
  };
  struct Prepared {
    Targets own;  ///< For bounds of the column.
    std::vector<Evidence> evidence;
  };

  template <class Leaf>
  Truths walk(const Node& node, const Leaf& leaf) const;
  [[nodiscard]] Truths from_metrics(std::size_t predicate, const model::DataFile& file) const;
  [[nodiscard]] Truths from_partition(std::size_t predicate,
                                      const model::PartitionTuple& partition) const;
  [[nodiscard]] Truths from_summaries(std::size_t predicate,
                                      const std::vector<model::FieldSummary>& summaries) const;
  std::optional<bool> write_both(const Node& node, const model::PartitionTuple& partition,
                                 std::string& out) const;
  std::optional<bool> write_rest(const Node& node, const model::PartitionTuple& partition,
                                 std::string& out) const;

  const Filter& filter_;
  std::vector<Prepared> prepared_;  ///< One for each predicate.
};

}  // namespace lake::scan
