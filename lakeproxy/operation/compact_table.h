#pragma once

// A table is made cheap to read and to keep: rows that PostgreSQL holds become
// files, small files become large ones, files full of deleted rows are written
// anew, and what nothing needs any more is removed. No reader sees other rows
// than before, at any snapshot that is kept.
// Source: specification, section 4, ".../compact".

#include "base/metrics/registry.h"
#include "lakeproxy/ducklake/maintenance/table_upkeep.h"
#include "lakeproxy/maintenance/compaction/compactor.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

struct CompactTable {
  model::TableIdentifier identifier;
};
[[nodiscard]] inline policy::Targets targets(const CompactTable& request) {
  return {policy::Target::table(request.identifier)};
}

struct Compacted {
  ducklake::TableTotals before;
  ducklake::TableTotals after;
  exporter::CompactionDone done;
  /// By the table's properties history.expire.*; the lake keeps them.
  std::int64_t snapshots_removed = 0;
  std::int64_t files_removed = 0;  ///< Objects that the lake had let go of.
};

/// Running it again changes nothing, but for what became old enough meanwhile.
/// Errors: kUnavailable  the table, or another one in this process, is being
///         compacted; kUnsupported  the engine's extensions are not configured;
///         after others what was done stays.
[[nodiscard]] base::Task<base::Result<Compacted>> compact_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CompactTable> request);

/// Series of all compactions of the process; outlived by its registry.
class CompactionMetrics {
 public:
  explicit CompactionMetrics(base::metrics::Registry& metrics);
  void note(const base::Result<Compacted>& result) const;

 private:
  base::metrics::Counter done_, partial_, failed_;
  base::metrics::Counter files_merged_, rows_flushed_, snapshots_expired_, files_removed_;
};

}  // namespace lake::operation
