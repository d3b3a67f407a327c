#include "lakeproxy/engine/deletes/position_deletes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/core/text.h"
#include "base/duckdb/sql_text.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::Connection;
using base::duckdb::Param;
using base::duckdb::quote_literal;

constexpr std::string_view kSnapshotColumn = "_ducklake_internal_snapshot_id";

const ParquetNode* find_column(const ParquetNode& root, std::string_view name) {
  for (const auto& column : root.children) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

// The expression for the snapshot of each delete: a file that was written again
// for later snapshots names it, others mean `begin`.
base::Result<std::string> snapshot_of(Connection& connection, const std::string& path,
                                      model::SnapshotId begin) {
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, path));
  const ParquetNode* position = find_column(root, "pos");
  if (position == nullptr || position->physical_type != "INT64") {
    return fail(ErrorKind::kCorrupt, "a delete file has no positions");
  }
  const ParquetNode* at = find_column(root, kSnapshotColumn);
  if (at == nullptr) return fmt::format("CAST({} AS BIGINT)", begin.value);
  if (at->physical_type != "INT64") {
    return fail(ErrorKind::kCorrupt, "a delete file's snapshots are not numbers");
  }
  return fmt::format("CAST({} AS BIGINT)", kSnapshotColumn);
}

}  // namespace

base::Result<model::RowEnds> read_row_ends(base::duckdb::Engine& engine, std::string_view bytes,
                                           model::SnapshotId begin,
                                           std::chrono::steady_clock::time_point deadline,
                                           std::size_t limit) {
  ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine.scratch_dir()));
  std::string path = scratch.file("deletes.parquet");
  RETURN_IF_ERROR(append_file(path, bytes));
  ASSIGN_OR_RETURN(Connection connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(std::string snapshot, snapshot_of(connection, path, begin));
  // One more than allowed, so that a longer file is noticed and not cut off.
  auto rows = connection.execute(
      fmt::format("SELECT CAST(pos AS BIGINT), {} FROM read_parquet({}) LIMIT {}", snapshot,
                  quote_literal(path), limit + 1));
  if (!rows) return as_foreign(std::move(rows).error());
  model::RowEnds ends;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, rows->next());
    if (!more) return ends;
    if (ends.size() == limit) {
      return fail(ErrorKind::kTooLarge, "a delete file has more positions than are read");
    }
    if (rows->is_null(0) || rows->is_null(1)) {
      return fail(ErrorKind::kCorrupt, "a delete file has a null position or snapshot");
    }
    ends.push_back({rows->int64(0), model::SnapshotId(rows->int64(1))});
  }
}

base::Result<std::optional<model::RowEnds>> read_vector_ends(std::string_view bytes) {
  ASSIGN_OR_RETURN(auto positions, materialize::read_deletion_vectors(bytes));
  model::RowEnds ends;
  ends.reserve(positions.size());
  for (const auto& [position, snapshot] : positions) {
    if (!snapshot) return std::nullopt;
    ends.push_back({position, model::SnapshotId(*snapshot)});
  }
  return ends;
}

base::Result<std::vector<std::int64_t>> read_vector_positions(std::string_view bytes,
                                                              model::SnapshotId snapshot) {
  ASSIGN_OR_RETURN(auto read, materialize::read_deletion_vectors(bytes));
  std::vector<std::int64_t> positions;
  for (const auto& [position, at] : read) {
    if (!at || *at <= snapshot.value) positions.push_back(position);
  }
  return positions;
}

base::Result<std::vector<std::int64_t>> read_position_deletes(
    base::duckdb::Engine& engine, std::string_view bytes, model::SnapshotId snapshot,
    std::chrono::steady_clock::time_point deadline, std::size_t limit) {
  ASSIGN_OR_RETURN(model::RowEnds ends, read_row_ends(engine, bytes, snapshot, deadline, limit));
  std::vector<std::int64_t> positions;
  for (const model::RowEnd& row : ends) {
    if (row.end <= snapshot) positions.push_back(row.position);
  }
  return unite_positions(std::move(positions), {});
}

base::Result<std::string> write_position_deletes(base::duckdb::Engine& engine,
                                                 std::string_view data_file,
                                                 const std::vector<std::int64_t>& positions,
                                                 std::chrono::steady_clock::time_point deadline) {
  if (!base::is_utf8(data_file)) {
    return fail(ErrorKind::kInvalid, "a data file's location is not UTF-8");
  }
  ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine.scratch_dir()));
  ASSIGN_OR_RETURN(Connection connection, engine.connect());
  connection.set_deadline(deadline);
  RETURN_IF_ERROR(connection.execute("CREATE TEMP TABLE deletes (pos BIGINT)"));
  ASSIGN_OR_RETURN(auto appender, connection.append_to("deletes"));
  for (std::int64_t position : positions) {
    const std::array<Param, 1> row{position};
    RETURN_IF_ERROR(appender.append(row));
  }
  RETURN_IF_ERROR(appender.finish());
  std::string path = scratch.file("deletes.parquet");
  RETURN_IF_ERROR(connection.execute(
      fmt::format("COPY (SELECT {} AS file_path, pos FROM deletes) TO {} "
                  "(FORMAT parquet, COMPRESSION zstd, FIELD_IDS {{file_path: {}, pos: {}}})",
                  quote_literal(data_file), quote_literal(path), kFilePathId, kPositionId)));
  return read_file(path);
}

base::Result<std::vector<std::int64_t>> unite_positions(std::vector<std::int64_t> a,
                                                        const std::vector<std::int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::sort(a);
  if (!a.empty() && a.front() < 0)
    return fail(ErrorKind::kCorrupt, "a deleted position is negative");
  a.erase(std::ranges::unique(a).begin(), a.end());
  return a;
}

}  // namespace lake::exporter
