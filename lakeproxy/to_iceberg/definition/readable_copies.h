#pragma once

// Some data files of DuckDB's hold values that not every Iceberg client reads right:
// unsigned numbers, milliseconds, intervals, geographies, types that changed since, columns that
// came with a default. A readable copy stands for such a file (ADR 0098). This says which
// files need one, with which types, and how it is called. Pure.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/to_iceberg/definition/old_files.h"

namespace lake::ducklake {

/// Which files of one table need copies.
class CopyRules {
 public:
  /// `columns` holds all rows of all columns, and outlives it.
  explicit CopyRules(const LakeColumns& columns, GeographySpans geographies = {});

  /// The copy that clients need of `file` at the snapshots from ReadableCopy::since to
  /// `newest`, or to the file's last one; nothing where they read the file itself. A column
  /// that is gone counts with its last type: what stands for a file changes only where a type
  /// does.
  /// `added_as` says how a file that was added as it is finds its columns; null for any other.
  /// The values of its path are in its copy where no partition tells readers what DuckDB reads
  /// there. Such a file has a copy wherever copies are made. Where no column of it changed, the
  /// copy stands for it only if clients would read it otherwise than DuckDB, which its footer says.
  [[nodiscard]] std::optional<model::ReadableCopy> copy_of(
      const model::LakeDataFile& file, std::shared_ptr<const model::AddedColumns> added_as,
      std::string_view table_location, model::SnapshotId newest) const;

  /// How clients see rows at `shown_at` that DuckDB inserted while the table had the columns of
  /// `inserted_at` and that it still keeps in PostgreSQL; nothing where they see them as they were.
  /// Each value is in its lake type of then, exactly, so this is what a change since needs alone.
  [[nodiscard]] std::optional<model::ChangedColumns> changed_in_rows(
      model::SnapshotId inserted_at, model::SnapshotId shown_at) const;

 private:
  [[nodiscard]] std::vector<model::CopiedColumn> copied_columns(const model::LakeDataFile& file,
                                                                const model::AddedColumns* added_as,
                                                                model::SnapshotId at) const;
  [[nodiscard]] std::optional<model::CopiedColumn> as_geography(const LakeColumn& then,
                                                                const LakeColumn& now,
                                                                model::SnapshotId at) const;
  [[nodiscard]] model::SnapshotId since(const model::LakeDataFile& file,
                                        const model::ReadableCopy& copy) const;

  bool makes_copies_;
  ShownIn in_;
  GeographySpans geographies_;
  ColumnSpans all_;
  ColumnSpans spans_;  ///< Of the columns that some file may hold otherwise.
};

/// Shows `file` as its copy: its path, and no bound that clients would take otherwise than DuckDB.
void show_as_copy(model::ReadableCopy copy, model::LakeDataFile& file);

/// Whether `location` has the form of a readable copy's below the table's location: clients
/// cannot add it to a table as a file of their own.
[[nodiscard]] bool is_copy_location(std::string_view location, std::string_view table_location);

}  // namespace lake::ducklake
