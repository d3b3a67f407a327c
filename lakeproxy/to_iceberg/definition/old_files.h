#pragma once

// What DuckDB may do to a column so that readers of Iceberg misread files that were
// written before: then the table is refused as long as it shows such a file.
// Source: Iceberg table specification, "Default values", "Schema Evolution".

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/to_iceberg/definition/lake_columns.h"

namespace lake::ducklake {

/// The rows of each column, oldest first.
using ColumnSpans = std::map<model::FieldId, std::vector<const LakeColumn*>>;
/// What the spans point to are the elements of `columns`.
[[nodiscard]] ColumnSpans spans_of(const LakeColumns& columns);

/// The columns of a table that clients see as geographies, which the lake calls geometry as it
/// does others: each with its type from a snapshot on; nothing from where it is another.
using GeographySpans =
    std::map<model::FieldId, std::map<model::SnapshotId, std::optional<model::Type>>>;
[[nodiscard]] GeographySpans geographies_of(const model::LakeTable& table);

[[nodiscard]] bool can_show(const LakeColumn& column, ShownIn in);

/// Columns that are gone and that had a type which cannot be shown.
[[nodiscard]] std::set<model::FieldId> gone_and_unshowable(const ColumnSpans& rows, ShownIn in);

/// The reason of an error of a table that hides such rows. Those that PostgreSQL holds are
/// shown once they are in files.
inline constexpr std::string_view kOldRows = "old_rows";

/// Files that began before `before`, and those that began at it and were written
/// first, in the same transaction, cannot be read right at snapshots from it on.
struct OldFileRule {
  model::SnapshotId before;
  std::string message;  ///< Names the column and the ways out.
  /// The column is one that files may lack for which it has a default: later files
  /// that were added without it cannot be read right either.
  std::optional<model::FieldId> defaulted = std::nullopt;
  /// The first snapshot without the column, if it is gone: from there on nothing
  /// is wrong.
  std::optional<model::SnapshotId> until = std::nullopt;
  /// Instead: files that DuckDB wrote from `before` on cannot be read right.
  bool is_of_duckdbs_files = false;

  friend bool operator==(const OldFileRule&, const OldFileRule&) = default;
};

/// To be checked against the table's files. `columns` holds all rows of each column
/// that has a default or had several types, or is a geography.
[[nodiscard]] std::vector<OldFileRule> old_file_rules(const LakeColumns& columns,
                                                      const GeographySpans& geographies = {});

}  // namespace lake::ducklake
