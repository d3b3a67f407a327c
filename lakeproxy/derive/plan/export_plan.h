#pragma once

// Some of what a lake shows is in no file that an Iceberg client can read:
// rows that DuckDB keeps in PostgreSQL, deletes that it keeps there, and
// delete files whose columns carry DuckDB's field ids. This is the list of
// files to make for them, and what is known of each once it is made.
// Sources: DuckLake specification 1.0, "Data Inlining", "Delete Files"; Iceberg
// table specification, "Position Delete Files".

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/puffin/puffin_writer.h"

namespace lake::materialize {

/// Inlined rows that one commit inserted under one schema: they become one
/// data file, in the order of their row ids. For a table that keeps row lineage
/// the ids are one column more: rows that were updated keep theirs, so those of
/// one commit need not follow each other.
struct InlinedGroup {
  std::string location;
  model::SnapshotId begin;
  std::vector<model::Field> columns;
  std::vector<model::LakeInlinedRow> rows;
  model::LakeTypes lake_types = {};  ///< Of the columns, where the lake has others.
  /// What is written in another type than `columns` has, and columns that come with a constant.
  std::vector<model::CopiedColumn> changed = {};
};

/// The deleted positions of one data file as of one snapshot, all of them.
struct DeleteGroup {
  std::string location;
  std::string data_file;       ///< Its location.
  model::SnapshotId snapshot;  ///< The snapshot that shows it first.
  /// DuckDB's own delete file, whose positions count too.
  std::optional<model::LakeDeleteFile> source;
  std::vector<std::int64_t> positions;  ///< Further ones, in any order.
  /// Of the data file; nothing for an inlined group.
  std::optional<model::DataFileId> data_file_id = std::nullopt;
  /// An earlier snapshot shows another delete file of the data file.
  bool replaces = false;
  /// For a deletion vector: what the location of the Puffin file begins with.
  /// All groups with one beginning go into one file; the rest of its name is
  /// made from its bytes, since a vector's place in it follows from all of them.
  std::string puffin = {};
};

/// Inlined rows of which `snapshot` is the first to show none any more.
struct RemovedGroup {
  std::string location;
  model::SnapshotId snapshot;
  bool had_deletes = false;  ///< An earlier snapshot shows a delete file of it.
};

struct ExportPlan {
  std::vector<InlinedGroup> inlined;
  std::vector<DeleteGroup> deletes;
  std::vector<RemovedGroup> removed;

  /// Whether there is nothing to make.
  [[nodiscard]] bool empty() const { return inlined.empty() && deletes.empty(); }
};

/// Where a deletion vector stands.
struct VectorPlace {
  std::string location;  ///< Of the Puffin file.
  BlobPlace blob;
};

/// A file that was made, by the location that the plan has.
struct ExportedFile {
  std::int64_t record_count = 0;
  std::int64_t file_size_bytes = 0;
  std::vector<model::LakeColumnStats> stats;  ///< Of an inlined group.
  std::optional<VectorPlace> vector = std::nullopt;
};
using Exported = std::map<std::string, ExportedFile>;

}  // namespace lake::materialize
