#include "lakeproxy/from_iceberg/deletes/restored_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/runtime/gather.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/from_iceberg/deletes/delete_object.h"

namespace lake::operation {
namespace {

using ducklake::FileDeletes;
using ducklake::PartlyShown;
using exporter::Positions;
using model::SnapshotId;

constexpr base::AtOnce kFilesAtOnce{8};

base::Task<base::Result<Positions>> younger_rows(base::RequestContext context, Catalog* catalog,
                                                 const model::LakeDataFile* file,
                                                 SnapshotId back_to) {
  if (!file->partial_max || *file->partial_max <= back_to) co_return Positions();
  CO_ASSIGN_OR_RETURN(auto begins, co_await catalog->exporter->row_snapshot_ids(context, file));
  if (begins == nullptr) {
    co_return base::fail(
        base::ErrorKind::kUnsupported,
        fmt::format("set-snapshot-ref main: {} does not say which of its rows snapshot {} shows",
                    file->path, back_to.value));
  }
  co_return begins->after(back_to);
}

base::Task<base::Result<Positions>> deleted_rows(base::RequestContext context, Catalog* catalog,
                                                 const PartlyShown* part, SnapshotId back_to) {
  if (!part->delete_file) co_return Positions();
  co_return co_await catalog->exporter->lake_positions(context, *part->delete_file, back_to);
}

base::Task<base::Result<FileDeletes>> cut_back(base::RequestContext context, Catalog* catalog,
                                               const model::LakeTable* table, PartlyShown part,
                                               SnapshotId back_to) {
  CO_ASSIGN_OR_RETURN(Positions younger,
                      co_await younger_rows(context, catalog, &part.file, back_to));
  CO_ASSIGN_OR_RETURN(Positions deleted, co_await deleted_rows(context, catalog, &part, back_to));
  Positions gone;
  std::ranges::set_union(younger, deleted, std::back_inserter(gone));
  // DuckDB counts both, so no position may stand in both.
  std::ranges::sort(part.inlined);
  Positions in_file;
  std::ranges::set_difference(gone, part.inlined, std::back_inserter(in_file));
  FileDeletes result{.file = part.file.id};
  if (!in_file.empty()) {
    CO_ASSIGN_OR_RETURN(result.object,
                        co_await put_delete_object(context, catalog, table->metadata.location,
                                                   part.file.path, std::move(in_file)));
  }
  co_return result;
}

}  // namespace

base::Task<base::Result<std::vector<FileDeletes>>> cut_files_back(base::RequestContext context,
                                                                  Catalog* catalog,
                                                                  const model::LakeTable* table,
                                                                  SnapshotId back_to) {
  CO_ASSIGN_OR_RETURN(auto parts, co_await catalog->reader->partly_shown(context, table, back_to));
  auto cut = [&](std::size_t i) {
    return cut_back(context, catalog, table, std::move(parts[i]), back_to);
  };
  co_return co_await base::gather_few(kFilesAtOnce, parts.size(), cut);
}

}  // namespace lake::operation
