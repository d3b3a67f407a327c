#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/runtime/gather.h"
#include "lakeproxy/iceberg/scan/delete_index.h"
#include "lakeproxy/iceberg/scan/task_json.h"
#include "lakeproxy/planning/scan_plan.h"
#include "lakeproxy/to_iceberg/publish/table_at.h"

namespace lake::planning {
namespace {

using base::ErrorKind;
using base::Result;
using materialize::Entries;
using model::SnapshotId;
using scan::ScanRequest;

constexpr base::AtOnce kReadsAtOnce{16};
// What is looked through on the event loop: some milliseconds.
constexpr std::size_t kFewEntries = 2000;

base::Error wrong(std::string_view member, std::string_view rule) {
  return base::fail(ErrorKind::kInvalid, fmt::format("{}: {}", member, rule));
}

Result<const model::Snapshot*> snapshot_of(const publish::LoadedTable& table, SnapshotId id,
                                           std::string_view member) {
  auto found = publish::find_snapshot(table, id);
  if (!found) return wrong(member, fmt::format("the table has no snapshot {}", id.value));
  return table.metadata.find_snapshot(*found);
}

/// What is scanned: one snapshot as it is, or what some of them added.
struct Scope {
  const model::Snapshot* last = nullptr;  ///< Null: the table has no snapshot.
  std::optional<std::vector<const model::Snapshot*>> appends;
};

// The snapshots behind `first` up to `last` that append, newest first.
Result<std::vector<const model::Snapshot*>> appends_between(const publish::LoadedTable& table,
                                                            const model::Snapshot* first,
                                                            const model::Snapshot* last) {
  std::vector<const model::Snapshot*> appends;
  const model::Snapshot* at = last;
  while (at != nullptr && at != first) {
    if (at->operation == model::Operation::kAppend) appends.push_back(at);
    at = at->parent_snapshot_id ? table.metadata.find_snapshot(*at->parent_snapshot_id) : nullptr;
  }
  if (at == nullptr) return wrong("start-snapshot-id", "must come before end-snapshot-id");
  return appends;
}

Result<Scope> scope_of(const publish::LoadedTable& table, const ScanRequest& request) {
  Scope scope;
  if (request.range) {
    ASSIGN_OR_RETURN(scope.last, snapshot_of(table, request.range->last, "end-snapshot-id"));
    ASSIGN_OR_RETURN(const auto* first,
                     snapshot_of(table, request.range->after, "start-snapshot-id"));
    ASSIGN_OR_RETURN(scope.appends, appends_between(table, first, scope.last));
    return scope;
  }
  if (!request.snapshot_id) {
    scope.last = table.metadata.current_snapshot();
    return scope;
  }
  ASSIGN_OR_RETURN(scope.last, snapshot_of(table, *request.snapshot_id, "snapshot-id"));
  return scope;
}

const model::Schema& schema_of(const model::TableMetadata& metadata, const Scope& scope,
                               scan::SchemaChoice choice) {
  if (choice == scan::SchemaChoice::kSnapshot && scope.last != nullptr && scope.last->schema_id) {
    const auto* then = metadata.find_schema(*scope.last->schema_id);
    if (then != nullptr) return *then;
  }
  return metadata.current_schema();
}

// A filter may be large, and so may a table; both at once would take minutes.
base::Status check_work(const ScanPlan& plan, std::size_t times) {
  constexpr std::size_t kMostTests = 200'000'000;
  std::size_t tests = 0;
  for (const scan::Predicate& predicate : plan.filter.predicates) {
    tests += 1 + static_cast<std::size_t>(std::bit_width(predicate.values.size()));
  }
  if (tests * times <= kMostTests) return {};
  return base::fail(ErrorKind::kTooLarge, "filter: too large for the files of this table");
}

std::size_t page_size_of(const ScanPlan& plan) {
  // A task without its residual and statistics, and what a column's statistics take.
  constexpr std::size_t kTask = 512;
  constexpr std::size_t kColumn = 160;
  std::size_t bytes = kTask + plan.stats.size() * kColumn;
  for (const auto& predicate : plan.filter.predicates) bytes += predicate.json.size() + 32;
  return std::clamp(kBytesOfPage / bytes, std::size_t{1}, kTasksOfPage);
}

// Binds what the request names to the table.
base::Status prepare(ScanPlan& plan, const model::TableMetadata& metadata, const Scope& scope,
                     const ScanRequest& request) {
  const scan::Columns columns(schema_of(metadata, scope, request.schema), request.names);
  for (std::size_t i = 0; i < request.select.size(); ++i) {
    RETURN_IF_ERROR(columns.find(request.select[i], fmt::format("select[{}]", i)));
  }
  for (std::size_t i = 0; i < request.stats_fields.size(); ++i) {
    ASSIGN_OR_RETURN(const auto* column,
                     columns.find(request.stats_fields[i], fmt::format("stats-fields[{}]", i)));
    plan.stats.insert(column->field->id);
  }
  if (request.filter) {
    ASSIGN_OR_RETURN(plan.filter, scan::bind(*request.filter, columns, "filter"));
  }
  plan.table_uuid = metadata.table_uuid;
  if (metadata.format_version >= 3) plan.row_ids = scan::RowIds::kTold;
  plan.page_size = page_size_of(plan);
  return {};
}

// What the filter means for files of a spec, made for specs that have files.
Result<const SpecPlan*> spec_of(ScanPlan& plan, const model::TableMetadata& metadata,
                                std::int32_t id) {
  auto found = plan.specs.find(id);
  if (found != plan.specs.end()) return &found->second;
  const auto* spec = metadata.find_spec(id);
  if (spec == nullptr) {
    return base::fail(ErrorKind::kCorrupt, fmt::format("the table has no partition spec {}", id));
  }
  RETURN_IF_ERROR(check_work(plan, plan.specs.size() + 1));
  SpecPlan made{scan::partition_types(*spec, metadata.schemas),
                scan::FileFilter(plan.filter, *spec), spec->is_unpartitioned()};
  return &plan.specs.emplace(id, std::move(made)).first->second;
}

// The manifests of a list that can hold files of the scan.
base::Status keep_manifests(ScanPlan& plan, const model::TableMetadata& metadata,
                            const std::vector<model::ManifestFile>& list,
                            std::optional<SnapshotId> added_by) {
  for (const model::ManifestFile& row : list) {
    ASSIGN_OR_RETURN(const SpecPlan* spec, spec_of(plan, metadata, row.partition_spec_id));
    const bool is_data = row.content == model::ManifestContent::kData;
    if (added_by && (!is_data || row.added_snapshot_id != *added_by)) continue;
    if (is_data && !spec->filter.may_match(row)) continue;
    plan.manifests.push_back({row, added_by});
  }
  return {};
}

base::Task<base::Status> list_manifests(base::RequestContext context,
                                        publish::ManifestStore* manifests, ScanPlan* plan,
                                        publish::LoadedTablePtr table, Scope scope) {
  if (scope.last == nullptr) co_return base::Status{};
  if (!scope.appends) {
    CO_ASSIGN_OR_RETURN(auto list, co_await manifests->list(context, scope.last->manifest_list));
    co_return keep_manifests(*plan, table->metadata, *list, std::nullopt);
  }
  const auto& appends = *scope.appends;
  auto read = [&](std::size_t i) { return manifests->list(context, appends[i]->manifest_list); };
  auto keep = [&](std::size_t i, publish::ManifestList list) {
    return keep_manifests(*plan, table->metadata, *list, appends[i]->snapshot_id);
  };
  co_return co_await base::gather_few(kReadsAtOnce, appends.size(), read, keep);
}

bool is_scanned(const model::ManifestEntry& entry, const PlannedManifest& manifest) {
  if (entry.status == model::EntryStatus::kDeleted) return false;
  if (!manifest.added_by) return true;
  return entry.status == model::EntryStatus::kAdded &&
         entry.snapshot_id.value_or(manifest.row.added_snapshot_id) == *manifest.added_by;
}

scan::ListedFile listed(const model::ManifestEntry& entry, const PlannedManifest& manifest) {
  return {manifest.row.partition_spec_id,
          entry.sequence_number.value_or(manifest.row.sequence_number), &entry.data_file};
}

// Chooses the files of a plan. Plain work on values, for any thread.
class Selection {
 public:
  Selection(ScanPlan& plan, const std::vector<Entries>& entries, std::optional<std::int64_t> rows)
      : plan_(plan), entries_(entries), rows_(rows) {}
  void run();

 private:
  void index_deletes();
  void add_file(FilePlace place, const scan::ListedFile& file);

  ScanPlan& plan_;
  const std::vector<Entries>& entries_;
  std::optional<std::int64_t> rows_;  ///< As many as are wanted at least.
  std::int64_t taken_ = 0;
  scan::DeleteIndex deletes_;
  std::vector<FilePlace> delete_places_;
  std::map<std::uint32_t, std::uint32_t> delete_numbers_;  ///< Of those that the plan names.
};

void Selection::index_deletes() {
  for (std::uint32_t m = 0; m < plan_.manifests.size(); ++m) {
    const PlannedManifest& manifest = plan_.manifests[m];
    if (manifest.row.content != model::ManifestContent::kDeletes) continue;
    const bool is_unpartitioned =
        plan_.specs.find(manifest.row.partition_spec_id)->second.is_unpartitioned;
    for (std::uint32_t e = 0; e < entries_[m]->size(); ++e) {
      const model::ManifestEntry& entry = (*entries_[m])[e];
      if (!is_scanned(entry, manifest)) continue;
      deletes_.add(listed(entry, manifest), is_unpartitioned);
      delete_places_.push_back({m, e});
    }
  }
}

void Selection::add_file(FilePlace place, const scan::ListedFile& file) {
  PlannedFile planned{place};
  planned.deletes_begin = static_cast<std::uint32_t>(plan_.delete_references.size());
  if (!deletes_.empty()) {
    for (std::uint32_t found : deletes_.find(file)) {
      auto [number, is_new] =
          delete_numbers_.try_emplace(found, static_cast<std::uint32_t>(plan_.deletes.size()));
      if (is_new) plan_.deletes.push_back(delete_places_[found]);
      plan_.delete_references.push_back(number->second);
    }
  }
  planned.deletes_end = static_cast<std::uint32_t>(plan_.delete_references.size());
  plan_.files.push_back(planned);
  taken_ += file.file->record_count;
}

void Selection::run() {
  index_deletes();
  // As many rows as are wanted can be counted only where each row of a file is one.
  const bool counts_rows = rows_ && plan_.filter.is_true() && deletes_.empty();
  for (std::uint32_t m = 0; m < plan_.manifests.size(); ++m) {
    const PlannedManifest& manifest = plan_.manifests[m];
    if (manifest.row.content != model::ManifestContent::kData) continue;
    const SpecPlan& spec = plan_.specs.find(manifest.row.partition_spec_id)->second;
    for (std::uint32_t e = 0; e < entries_[m]->size(); ++e) {
      if (counts_rows && taken_ >= *rows_) return;
      const model::ManifestEntry& entry = (*entries_[m])[e];
      if (!is_scanned(entry, manifest) || !spec.filter.may_match(entry.data_file)) continue;
      add_file({m, e}, listed(entry, manifest));
    }
  }
}

base::Task<Result<std::vector<Entries>>> read_entries(base::RequestContext context,
                                                      publish::ManifestStore* manifests,
                                                      const ScanPlan* plan) {
  auto read = [&](std::size_t i) {
    return manifests->entries(context, plan->manifests[i].row.manifest_path);
  };
  co_return co_await base::gather_few(kReadsAtOnce, plan->manifests.size(), read);
}

}  // namespace

std::size_t ScanPlan::pages() const {
  return std::max<std::size_t>(1, (files.size() + page_size - 1) / page_size);
}

std::size_t ScanPlan::bytes() const {
  constexpr std::size_t kManifest = 512;
  constexpr std::size_t kPredicate = 1024;
  constexpr std::size_t kValue = 128;
  std::size_t bytes = sizeof(*this) + files.capacity() * sizeof(PlannedFile) +
                      deletes.capacity() * sizeof(FilePlace) +
                      delete_references.capacity() * sizeof(std::uint32_t) +
                      manifests.capacity() * kManifest;
  // Each spec has the values of each predicate once more.
  for (const scan::Predicate& predicate : filter.predicates) {
    bytes += predicate.json.size() + kPredicate;
    bytes += (specs.size() + 1) * predicate.values.size() * kValue;
  }
  return bytes;
}

base::Task<Result<ScanPlanPtr>> plan_scan(base::RequestContext context,
                                          publish::ManifestStore* manifests,
                                          publish::LoadedTablePtr table,
                                          std::shared_ptr<const ScanRequest> request) {
  auto plan = std::make_shared<ScanPlan>();
  CO_ASSIGN_OR_RETURN(auto scope, scope_of(*table, *request));
  CO_RETURN_IF_ERROR(prepare(*plan, table->metadata, scope, *request));
  CO_RETURN_IF_ERROR(
      co_await list_manifests(context, manifests, plan.get(), table, std::move(scope)));
  CO_ASSIGN_OR_RETURN(auto entries, co_await read_entries(context, manifests, plan.get()));
  std::size_t count = 0;
  for (const Entries& some : entries) count += some->size();
  CO_RETURN_IF_ERROR(check_work(*plan, count));
  auto select = [plan, entries = std::move(entries), rows = request->min_rows] {
    Selection(*plan, entries, rows).run();
    return true;
  };
  if (count <= kFewEntries) {
    select();
  } else {
    co_await manifests->decoder().run(std::move(select));
  }
  co_return ScanPlanPtr(plan);
}

}  // namespace lake::planning
