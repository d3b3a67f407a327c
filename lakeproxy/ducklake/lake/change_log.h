#pragma once

// Each lake snapshot says in one line what it changed. The line decides which
// tables a reader must look at again, so an entry that is not understood
// counts as a change of everything.
// Source: DuckLake specification 1.0, "ducklake_snapshot_changes".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/model/ids.h"

namespace lake::ducklake {

enum class ChangeKind : std::uint8_t {
  kCreatedSchema,
  kCreatedTable,
  kCreatedView,
  kCreatedMacro,
  kDroppedSchema,
  kDroppedTable,
  kDroppedView,
  kDroppedMacro,
  kAlteredTable,
  kAlteredView,
  kInserted,       ///< Files.
  kDeleted,        ///< Files.
  kInlinedInsert,  ///< Rows in PostgreSQL.
  kInlinedDelete,
  kInlineFlush,
  kMergeAdjacent,
  kRewriteDelete,
  kCompacted,
};

struct LakeChange {
  ChangeKind kind = ChangeKind::kCreatedSchema;
  std::int64_t id = 0;  ///< Of the table, view, schema or macro; 0 for created ones.
  /// Of created ones: the schema, under those that it is nested in; then the object.
  std::vector<std::string> names;

  friend bool operator==(const LakeChange&, const LakeChange&) = default;
};

struct ChangeLog {
  std::vector<LakeChange> changes;
  /// An entry was not understood: treat everything as changed.
  bool unknown = false;

  /// Tables whose rows or definition change, by id. Created and renamed tables
  /// are only named, not numbered.
  [[nodiscard]] std::vector<model::TableId> tables() const;
};

/// Never fails: what it cannot read sets `unknown`. A line over 16 MiB is not read.
[[nodiscard]] ChangeLog parse_changes(std::string_view changes_made);

/// Whether a snapshot with that line may have changed the table's rows or
/// definition; true when the line is not understood. A rename by DuckDB names
/// the table only as created: compare names too.
[[nodiscard]] bool touches_table(std::string_view changes_made, model::TableId table);

/// The same of the table's definition alone.
[[nodiscard]] bool redefines_table(std::string_view changes_made, model::TableId table);

}  // namespace lake::ducklake
