#include <fmt/format.h>

#include <algorithm>

#include "base/duckdb/engine.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/derive/plan/content_hash.h"
#include "lakeproxy/engine/deletes/position_deletes.h"
#include "lakeproxy/engine/equality/equality_columns.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/files/transfer.h"
#include "lakeproxy/engine/parquet/column_ranges.h"
#include "lakeproxy/engine/parquet/footer.h"

namespace lake::exporter {

using base::ErrorKind;
using base::Result;
using base::Task;

namespace {

// Rows of `file` that some of the delete files delete. They are the lake's: what is wrong with
// them is no client's fault.
Result<Positions> deleted_of(const std::string& file, std::vector<PositionsByFile> read) {
  Positions all;
  for (PositionsByFile& positions : read) {
    auto found = positions.find(file);
    if (found == positions.end()) continue;
    ASSIGN_OR_RETURN(all, unite_positions(std::move(all), found->second));
  }
  return all;
}

// With the positions that its delete files delete.
Task<Result<RowOrigin>> origin_of(Exporter* exporter, storage::ObjectStore* store,
                                  base::RequestContext context, const MaskedCopy* copy) {
  RowOrigin origin = copy->origin;
  if (copy->deletes.empty()) co_return origin;
  CO_ASSIGN_OR_RETURN(auto bucket, storage::Location::parse("s3://" + store->bucket()));
  auto read = co_await exporter->read_positions(context, bucket, copy->deletes);
  if (!read && read.error().kind() == ErrorKind::kInvalid) {
    co_return base::fail(ErrorKind::kCorrupt, read.error().message());
  }
  if (!read) co_return std::move(read).error();
  CO_ASSIGN_OR_RETURN(origin.deleted, deleted_of(copy->source.file_path, std::move(*read)));
  co_return origin;
}

// Another server may have drawn the lines between the parts elsewhere: each part is named by what
// is in it, so that none takes the place of another.
std::string part_location(const std::string& copy, std::string_view bytes) {
  return fmt::format("{}-{}", copy, materialize::content_hash(bytes));
}

// What a file's footer says, once that is there.
struct Footer {
  ParquetNode root;
  std::vector<RowGroup> groups;
};

Result<Footer> read_footer(base::duckdb::Engine& engine, const std::string& path,
                           std::uint64_t there, const model::NameMapping* mapping,
                           base::Deadline deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  Footer footer;
  ASSIGN_OR_RETURN(footer.root, read_parquet_tree(connection, path));
  if (!has_field_ids(footer.root)) {
    if (mapping == nullptr) {
      return base::fail(ErrorKind::kUnsupported, "the file has no field ids");
    }
    apply_mapping(footer.root, *mapping);
  }
  ASSIGN_OR_RETURN(footer.groups, row_groups(connection, path, there));
  return footer;
}

/// The row groups at a file's beginning that fit into a budget.
struct FirstGroups {
  std::vector<ByteRange> ranges;
  std::optional<std::int64_t> looked_at;  ///< Rows that can be read; nothing: all.
};

Result<FirstGroups> first_groups(const std::vector<RowGroup>& groups, ByteBudget& budget) {
  FirstGroups first;
  std::int64_t rows = 0;
  for (const RowGroup& group : groups) {
    if (!budget.take(group.bytes.end - std::min(group.bytes.begin, group.bytes.end))) {
      if (first.ranges.empty()) {
        return base::fail(ErrorKind::kTooLarge, "its first rows are more than a preview reads");
      }
      first.looked_at = rows;
      break;
    }
    first.ranges.push_back(group.bytes);
    rows += group.rows;
  }
  return first;
}

}  // namespace

Task<Result<MaskedParts>> Exporter::mask_file(base::RequestContext context, const MaskedCopy* copy,
                                              std::int64_t part_bytes) {
  const Means means{engine_, blocking_, store_};
  CO_ASSIGN_OR_RETURN(auto key, key_of(*store_, copy->source.file_path));
  if (copy->source.file_size_in_bytes <= 0) {
    co_return base::fail(ErrorKind::kCorrupt, "it has no size");
  }
  CO_ASSIGN_OR_RETURN(const RowOrigin origin, co_await origin_of(this, store_, context, copy));
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine_->scratch_dir()));
  const std::string from = scratch.file("from.parquet");
  const std::string to = scratch.file("to");
  auto brought = co_await bring(means, context, std::move(key), from, 0,
                                static_cast<std::uint64_t>(copy->source.file_size_in_bytes));
  if (!brought) co_return as_listed(std::move(brought).error());
  auto write = [engine = engine_, &from, &to, copy, &origin, part_bytes,
                deadline = context.deadline] {
    return write_masked_copy(*engine, from, to, *copy->rules, origin, part_bytes, deadline);
  };
  CO_ASSIGN_OR_RETURN(const auto written, co_await blocking_->run(std::move(write)));
  MaskedParts parts;
  for (const WrittenPart& part : written) {
    auto read = [&part] { return read_file(part.path); };
    CO_ASSIGN_OR_RETURN(std::string bytes, co_await blocking_->run(std::move(read)));
    std::string location =
        written.size() == 1 ? copy->location : part_location(copy->location, bytes);
    CO_ASSIGN_OR_RETURN(const std::int64_t size,
                        co_await upload(means, context, location, std::move(bytes)));
    parts.push_back({std::move(location), part.rows, size});
  }
  co_return parts;
}

Task<Result<FirstRows>> Exporter::first_rows(base::RequestContext context, FirstRowsWanted wanted) {
  const Means means{engine_, blocking_, store_};
  const model::DataFile& source = wanted.file->source;
  CO_ASSIGN_OR_RETURN(auto key, key_of(*store_, source.file_path));
  if (source.file_size_in_bytes <= 0) co_return base::fail(ErrorKind::kCorrupt, "it has no size");
  const auto size = static_cast<std::uint64_t>(source.file_size_in_bytes);
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine_->scratch_dir()));
  const std::string path = scratch.file("first.parquet");
  auto there = co_await bring_footer(means, context, key, path, size, wanted.budget);
  if (!there) co_return as_listed(std::move(there).error());
  auto look = [engine = engine_, &path, there = *there, mapping = wanted.mapping,
               deadline = context.deadline] {
    return read_footer(*engine, path, there, mapping, deadline);
  };
  CO_ASSIGN_OR_RETURN(const Footer footer, co_await blocking_->run(std::move(look)));
  CO_ASSIGN_OR_RETURN(const FirstGroups first, first_groups(footer.groups, *wanted.budget));
  for (const ByteRange& range : first.ranges) {
    auto brought = co_await bring(means, context, key, path, range.begin, range.end);
    if (!brought) co_return as_listed(std::move(brought).error());
  }
  CO_ASSIGN_OR_RETURN(const RowOrigin origin,
                      co_await origin_of(this, store_, context, wanted.file));
  wanted.bounds.looked_at = first.looked_at;
  auto read = [engine = engine_, &path, &footer, &wanted, &origin, deadline = context.deadline] {
    return read_first_rows(*engine, path, footer.root, *wanted.file->rules, origin, wanted.bounds,
                           deadline);
  };
  co_return co_await blocking_->run(std::move(read));
}

}  // namespace lake::exporter
