#include <algorithm>
#include <utility>

#include "base/duckdb/engine.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/engine/deletes/position_deletes.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/files/transfer.h"
#include "lakeproxy/engine/parquet/column_ranges.h"
#include "lakeproxy/engine/parquet/footer.h"
#include "lakeproxy/engine/parquet/read_row_snapshot_ids.h"

namespace lake::exporter {
namespace {

using base::RequestContext;
using base::Result;
using base::Task;
using storage::ObjectKey;
using Ranges = std::vector<ByteRange>;

// Where the column stands; nothing when the file has none.
Result<Ranges> find_column(base::duckdb::Engine& engine, const std::string& path,
                           std::uint64_t there, base::Deadline deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, path));
  auto leaf = leaf_of(root, kRowSnapshotIdColumn);
  if (!leaf) return Ranges{};
  const FileColumn column{.expression = {}, .first_leaf = *leaf, .leaves = 1};
  ASSIGN_OR_RETURN(auto ranges, column_ranges(connection, {{path, {column}, there}}));
  return std::move(ranges.front());
}

}  // namespace

Task<Result<std::shared_ptr<const model::RowSnapshotIds>>> Exporter::row_snapshot_ids(
    RequestContext context, const model::LakeDataFile* file) {
  Means means{engine_, blocking_, store_};
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_of(*store_, file->path));
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine_->scratch_dir()));
  if (file->file_size_bytes <= 0) {
    co_return base::fail(base::ErrorKind::kCorrupt, "a data file has no size");
  }
  const std::string path = scratch.file("part.parquet");
  auto there = co_await bring_footer(means, context, key, path,
                                     static_cast<std::uint64_t>(file->file_size_bytes));
  if (!there) co_return as_listed(std::move(there).error());
  auto find = [engine = engine_, path, there = *there, deadline = context.deadline] {
    return find_column(*engine, path, there, deadline);
  };
  CO_ASSIGN_OR_RETURN(Ranges ranges, co_await blocking_->run(std::move(find)));
  for (const ByteRange& range : ranges) {
    CO_RETURN_IF_ERROR(co_await bring(means, context, key, path, range.begin, range.end));
  }
  auto read = [engine = engine_, path, rows = file->record_count,
               span = FileSpan{file->begin, file->partial_max.value_or(file->begin)},
               deadline = context.deadline] {
    return read_row_snapshot_ids(*engine, path, rows, span, deadline);
  };
  CO_ASSIGN_OR_RETURN(auto begins, co_await blocking_->run(std::move(read)));
  if (!begins) co_return nullptr;
  co_return std::make_shared<const model::RowSnapshotIds>(std::move(*begins));
}

Task<Result<std::shared_ptr<const model::RowEnds>>> Exporter::row_ends(
    RequestContext context, const model::LakeDeleteFile* file) {
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_of(*store_, file->path));
  auto bytes = co_await store_->get(context, key);
  if (!bytes) co_return as_listed(std::move(bytes).error());
  auto read = [engine = engine_, text = std::move(*bytes), puffin = file->format == "puffin",
               begin = file->begin,
               deadline = context.deadline]() -> Result<std::optional<model::RowEnds>> {
    if (puffin) return read_vector_ends(text);
    return read_row_ends(*engine, text, begin, deadline);
  };
  CO_ASSIGN_OR_RETURN(auto ends, co_await blocking_->run(std::move(read)));
  if (!ends) co_return nullptr;
  co_return std::make_shared<const model::RowEnds>(std::move(*ends));
}

}  // namespace lake::exporter
