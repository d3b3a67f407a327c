#pragma once

// The result of planning a scan: which files of a published snapshot are to be read, which delete
// files count for each, and what is left of the filter. A plan holds the places of files in their
// manifests, not the files: a published snapshot never changes, so they are read again when they
// are told. So a plan of 100,000 files takes two megabytes, whatever its table's statistics are.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/iceberg/scan/file_filter.h"
#include "lakeproxy/iceberg/scan/scan_request.h"
#include "lakeproxy/iceberg/scan/task_json.h"
#include "lakeproxy/to_iceberg/publish/loaded_table.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"

namespace lake::planning {

/// The most tasks of one answer, and about the most bytes.
inline constexpr std::size_t kTasksOfPage = 4000;
inline constexpr std::size_t kBytesOfPage = 8 << 20;

/// A manifest with files of the plan.
struct PlannedManifest {
  model::ManifestFile row;
  /// Of an incremental scan: files that this snapshot added, and no others.
  std::optional<model::SnapshotId> added_by = std::nullopt;
};

/// A file by its place: the manifest's in the plan, its own in the manifest.
struct FilePlace {
  std::uint32_t manifest = 0;
  std::uint32_t entry = 0;
};

struct PlannedFile {
  FilePlace place;
  std::uint32_t deletes_begin = 0;  ///< In delete_references.
  std::uint32_t deletes_end = 0;
};

/// How the files of one partition spec are chosen and written.
struct SpecPlan {
  std::vector<model::Type> partition_types;
  scan::FileFilter filter;
  bool is_unpartitioned = false;
};

/// Never changes once planned; shared by threads.
struct ScanPlan {
  ScanPlan() = default;
  ScanPlan(const ScanPlan&) = delete;  // the specs' filters borrow `filter`
  ScanPlan& operator=(const ScanPlan&) = delete;

  base::Uuid table_uuid{};
  scan::RowIds row_ids = scan::RowIds::kLeftOut;
  scan::Filter filter;
  std::map<std::int32_t, SpecPlan> specs;
  std::unordered_set<model::FieldId> stats;  ///< Columns whose statistics are told.
  std::vector<PlannedManifest> manifests;
  std::vector<PlannedFile> files;
  std::vector<FilePlace> deletes;
  std::vector<std::uint32_t> delete_references;  ///< Into `deletes`.
  std::size_t page_size = kTasksOfPage;

  /// At least one.
  [[nodiscard]] std::size_t pages() const;
  /// What it takes in memory, estimated.
  [[nodiscard]] std::size_t bytes() const;
};
using ScanPlanPtr = std::shared_ptr<const ScanPlan>;

/// Plans a scan of one of the table's published snapshots. Many files are looked through on the
/// threads of `manifests`' decoder. `manifests` outlives the task.
/// Errors: kInvalid  the table has not that snapshot, the filter does not fit the schema, or a
///         name of "select" or "stats-fields" is no column; each names the member and the rule;
///         kTooLarge  so large a filter for so many files; those of ManifestStore.
[[nodiscard]] base::Task<base::Result<ScanPlanPtr>> plan_scan(
    base::RequestContext context, publish::ManifestStore* manifests, publish::LoadedTablePtr table,
    std::shared_ptr<const scan::ScanRequest> request);

/// The members "delete-files" and "file-scan-tasks" of one page, without brackets around them.
/// `page` is below plan->pages(). Errors: those of ManifestStore.
[[nodiscard]] base::Task<base::Result<std::string>> page_json(base::RequestContext context,
                                                              publish::ManifestStore* manifests,
                                                              ScanPlanPtr plan, std::size_t page);

}  // namespace lake::planning
