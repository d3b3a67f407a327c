#include <algorithm>
#include <utility>

#include "base/duckdb/engine.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/engine/equality/equality_columns.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/files/transfer.h"
#include "lakeproxy/engine/parquet/column_ranges.h"
#include "lakeproxy/engine/parquet/footer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Result;
using base::Task;
using model::FieldId;
using storage::ObjectKey;

// What a footer says of the columns that are counted.
struct Inspected {
  std::map<FieldId, FileColumn> columns;
  std::vector<ByteRange> ranges;
};

Result<Inspected> inspect(base::duckdb::Engine& engine, const std::string& path,
                          const NanSearch& search, std::uint64_t there, base::Deadline deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, path));
  if (search.mapping != nullptr && !has_field_ids(root)) apply_mapping(root, *search.mapping);
  Inspected found;
  ASSIGN_OR_RETURN(found.columns, nan_columns(root, search.columns));
  std::vector<FileColumn> wanted;
  for (const auto& [id, column] : found.columns) wanted.push_back(column);
  ASSIGN_OR_RETURN(auto ranges, column_ranges(connection, {{path, std::move(wanted), there}}));
  found.ranges = std::move(ranges.front());
  return found;
}

// What counting will read, as far as the lake knows how large the columns are.
std::uint64_t expected_bytes(const NanSearch& search) {
  const auto size = static_cast<std::uint64_t>(search.file->file_size_bytes);
  std::uint64_t bytes = std::min(size, kTailBytes);
  for (const auto& stats : search.file->stats) {
    if (std::ranges::find(search.columns, stats.column_id) == search.columns.end()) continue;
    const std::int64_t column = stats.column_size_bytes.value_or(0);
    if (column > 0) bytes = std::min(size, bytes + static_cast<std::uint64_t>(column));
  }
  return bytes;
}

Task<base::Status> bring_ranges(Means means, RequestContext context, ByteBudget* budget,
                                ObjectKey key, std::string path, std::vector<ByteRange> ranges) {
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) total += range.end - range.begin;
  CO_RETURN_IF_ERROR(budget->take(total));
  for (const ByteRange& range : ranges) {
    CO_RETURN_IF_ERROR(co_await bring(means, context, key, path, range.begin, range.end));
  }
  co_return base::Status{};
}

}  // namespace

Task<Result<std::map<FieldId, std::int64_t>>> Exporter::count_nans(RequestContext context,
                                                                   NanSearch search) {
  const Means means{engine_, blocking_, store_};
  if (search.file->file_size_bytes <= 0) {
    co_return base::fail(ErrorKind::kCorrupt, "a data file has no size");
  }
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_of(*store_, search.file->path));
  // A file that is too large is left without a request, and leaves the budget to others.
  const std::uint64_t expected = expected_bytes(search);
  CO_RETURN_IF_ERROR(search.budget->take(expected));
  ByteBudget budget(*search.budget, expected);
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine_->scratch_dir()));
  const std::string path = scratch.file("part.parquet");
  auto there = co_await bring_footer(
      means, context, key, path, static_cast<std::uint64_t>(search.file->file_size_bytes), &budget);
  if (!there) co_return as_listed(std::move(there).error());
  auto look = [engine = engine_, path, &search, there = *there, deadline = context.deadline] {
    return inspect(*engine, path, search, there, deadline);
  };
  CO_ASSIGN_OR_RETURN(Inspected found, co_await blocking_->run(std::move(look)));
  auto brought =
      co_await bring_ranges(means, context, &budget, std::move(key), path, std::move(found.ranges));
  if (!brought) co_return as_listed(std::move(brought).error());
  auto count = [engine = engine_, path, columns = std::move(found.columns),
                deadline = context.deadline] {
    return count_nans_in(*engine, path, columns, deadline);
  };
  co_return co_await blocking_->run(std::move(count));
}

}  // namespace lake::exporter
