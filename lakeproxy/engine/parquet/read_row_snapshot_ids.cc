#include "lakeproxy/engine/parquet/read_row_snapshot_ids.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duckdb/sql_text.h"
#include "base/duckdb/stream.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;

base::Error broken() {
  return fail(ErrorKind::kCorrupt,
              "a file of several snapshots does not say which row is of which");
}

// Two columns: the row's place in the file and its snapshot.
base::Status add_chunk(duckdb_data_chunk chunk, FileSpan span, model::RowSnapshotIds& begins) {
  duckdb_vector place = duckdb_data_chunk_get_vector(chunk, 0);
  duckdb_vector snapshot = duckdb_data_chunk_get_vector(chunk, 1);
  const auto* places = static_cast<const std::int64_t*>(duckdb_vector_get_data(place));
  const auto* snapshots = static_cast<const std::int64_t*>(duckdb_vector_get_data(snapshot));
  std::uint64_t* valid = duckdb_vector_get_validity(snapshot);
  const idx_t rows = duckdb_data_chunk_get_size(chunk);
  for (idx_t row = 0; row < rows; ++row) {
    const bool says = valid == nullptr || duckdb_validity_row_is_valid(valid, row);
    const model::SnapshotId begin = says ? model::SnapshotId(snapshots[row]) : span.last;
    if (places[row] != begins.row_count() || begin.value < 0) return broken();
    begins.add(std::max(begin, span.first));
  }
  return {};
}

std::int64_t leaves_of(const ParquetNode& node) {
  if (node.shape == ParquetShape::kLeaf) return 1;
  std::int64_t leaves = 0;
  for (const ParquetNode& child : node.children) leaves += leaves_of(child);
  return leaves;
}

}  // namespace

std::optional<std::int64_t> leaf_of(const ParquetNode& root, std::string_view name) {
  std::int64_t before = 0;
  for (const ParquetNode& column : root.children) {
    if (column.name == name && column.shape == ParquetShape::kLeaf) return before;
    before += leaves_of(column);
  }
  return std::nullopt;
}

base::Result<std::optional<model::RowSnapshotIds>> read_row_snapshot_ids(
    base::duckdb::Engine& engine, const std::string& path, std::int64_t row_count, FileSpan span,
    std::chrono::steady_clock::time_point deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, path));
  if (!leaf_of(root, kRowSnapshotIdColumn)) return std::nullopt;
  auto statement = connection.prepare(fmt::format(
      "SELECT CAST(file_row_number AS BIGINT), CAST({} AS BIGINT) FROM read_parquet({}, "
      "file_row_number = true)",
      base::duckdb::quote_identifier(kRowSnapshotIdColumn), base::duckdb::quote_literal(path)));
  if (!statement) return as_foreign(std::move(statement).error());
  auto stream = statement->stream({});
  if (!stream) return as_foreign(std::move(stream).error());
  model::RowSnapshotIds begins;
  for (;;) {
    auto chunk = stream->next();
    if (!chunk) return as_foreign(std::move(chunk).error());
    if (*chunk == nullptr) break;
    RETURN_IF_ERROR(add_chunk(*chunk, span, begins));
  }
  if (begins.row_count() != row_count) return broken();
  return begins;
}

}  // namespace lake::exporter
