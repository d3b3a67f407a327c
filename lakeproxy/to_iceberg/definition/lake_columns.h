#pragma once

// The lake keeps one row for each column, nested parts included, and for each
// time span in which the column had that name and type. This turns the rows
// that one snapshot shows into Iceberg fields.
// Source: DuckLake specification 1.0, "ducklake_column".

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/mapping/type_mapping.h"
#include "lakeproxy/model/ids.h"

namespace lake::ducklake {

/// A row of ducklake_column.
struct LakeColumn {
  model::FieldId id = 0;
  model::SnapshotId begin;
  std::optional<model::SnapshotId> end;
  std::int64_t order = 0;
  std::string name;
  std::string type;
  /// What rows written before the column was added hold. Absent: NULL.
  std::optional<std::string> initial_default;
  std::optional<std::string> default_value;
  bool nulls_allowed = true;
  std::optional<model::FieldId> parent;

  [[nodiscard]] bool shown_at(model::SnapshotId at) const {
    return begin <= at && (!end || at < *end);
  }
};

/// A row of ducklake_column_tag with key 'comment'.
struct LakeColumnDoc {
  model::FieldId column_id = 0;
  model::SnapshotId begin;
  std::optional<model::SnapshotId> end;
  std::string text;
};

/// A table's rows, in any order, and what it can show: the one switch that all
/// decisions about its columns' types follow.
struct LakeColumns {
  std::vector<LakeColumn> columns;
  std::vector<LakeColumnDoc> docs;
  std::int32_t format_version = 2;
  ReadableCopies copies = ReadableCopies::kOff;

  [[nodiscard]] ShownIn shown_in() const { return {format_version, copies}; }
};

/// The fields at snapshot `at`, in the table's order, without the columns of
/// `left_out`, their parts, and lists, maps and structs that cannot be without
/// them. NOT NULL counts for top-level columns alone:
/// DuckDB does not enforce it inside others, and marks parts that it added to a
/// struct with it although older rows lack them.
/// Errors: kUnsupported  a type that cannot be shown (names the column);
///         kCorrupt  a list or map without its parts, or over 64 levels.
[[nodiscard]] base::Result<std::vector<model::Field>> fields_at(
    const LakeColumns& columns, model::SnapshotId at, const std::set<model::FieldId>& left_out);

/// The lowest format version that has the types of all columns which are not gone.
[[nodiscard]] std::int32_t needed_format_version(const std::vector<LakeColumn>& columns);

/// Of the columns at snapshot `at`, those whose type clients see as another.
[[nodiscard]] model::LakeTypes lake_types_at(const std::vector<LakeColumn>& columns,
                                             model::SnapshotId at);

/// The constant that `column` has in rows older than it, for format version 3.
/// Nothing when it is NULL or its text is not a value of `type`.
[[nodiscard]] std::optional<model::Literal> initial_default(const LakeColumn& column,
                                                            const model::Type& type);

/// Whether the table has the column now, and `transform` applies to it: DuckDB may
/// drop or widen one that only a client's partition spec or sort order names.
[[nodiscard]] bool can_be_made(const LakeColumns& columns, model::FieldId source,
                               const model::Transform& transform);

}  // namespace lake::ducklake
