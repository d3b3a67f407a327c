#include "lakeproxy/from_iceberg/commit/table_change.h"

#include <set>
#include <string>

#include "lakeproxy/from_iceberg/commit/client_snapshot.h"
#include "lakeproxy/from_iceberg/commit/snapshot_base.h"
#include "lakeproxy/from_iceberg/commit/update_plan.h"
#include "lakeproxy/from_iceberg/commit/used_specs.h"
#include "lakeproxy/from_iceberg/deletes/restored_files.h"
#include "lakeproxy/operation/catalog/now.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {

bool creates(const model::TableCommit& commit) {
  for (const auto& requirement : commit.requirements) {
    if (std::holds_alternative<model::AssertCreate>(requirement)) return true;
  }
  return false;
}

base::Task<base::Result<PreparedChange>> prepare_change(base::RequestContext context,
                                                        Catalog* catalog,
                                                        publish::LoadedTablePtr loaded,
                                                        const model::TableCommit* commit) {
  // The client sees an older state than the lake has, and maybe other columns.
  if (loaded->table.waits_for_copies) {
    co_return base::fail(base::ErrorKind::kConflict,
                         "The table's newest files are being copied for clients that cannot read "
                         "them; nothing was committed. Try again.")
        .with_reason(ducklake::kBusy);
  }
  const Rebase rebase = may_rebase(loaded->metadata, *commit);
  CO_RETURN_IF_ERROR(check_requirements(*loaded, *commit, rebase));
  CO_ASSIGN_OR_RETURN(auto plan, plan_updates(&loaded->table, loaded->metadata, commit->updates));
  CO_RETURN_IF_ERROR(
      co_await check_specs_unused(context, catalog, &plan.after, &plan.removed_specs));
  PreparedChange prepared;
  ducklake::TableChange& change = prepared.change;
  change.before = std::shared_ptr<const model::LakeTable>(loaded, &loaded->table);
  change.after = std::move(plan.after);
  change.after.last_updated_ms = now_ms(*catalog->clock);
  if (plan.clears_main) change.content = ducklake::Content::kEnds;
  change.restores = plan.restores;
  if (plan.restores) {
    CO_ASSIGN_OR_RETURN(change.partly_shown,
                        co_await cut_files_back(context, catalog, &loaded->table, *plan.restores));
  }
  if (rebase == Rebase::kYes) change.base_version_check = ducklake::BaseVersionCheck::kDefinition;
  CommitFiles files;
  const model::LakeTable* rows_of = plan.clears_main ? nullptr : &loaded->table;
  for (std::size_t i = 0; i < plan.snapshots.size(); ++i) {
    SnapshotBase on{rows_of,      &change.after, {}, &files, i + 1 < plan.snapshots.size(),
                    plan.spec_ids};
    CO_ASSIGN_OR_RETURN(on.list, base_list(*loaded, plan, i));
    CO_ASSIGN_OR_RETURN(auto read, co_await read_client_snapshot(context, catalog, std::move(on),
                                                                 plan.snapshots[i]));
    change.snapshots.push_back(std::move(read.added));
    for (auto& object : read.objects) prepared.obsolete_objects.push_back(std::move(object));
  }
  spare_data_files(change.snapshots, prepared.obsolete_objects);
  co_return prepared;
}

void spare_data_files(const std::vector<ducklake::AddedSnapshot>& snapshots,
                      std::vector<std::string>& obsolete_objects) {
  if (snapshots.size() < 2) return;  // Of its own ones each snapshot knows.
  std::set<std::string> added;
  for (const auto& snapshot : snapshots) {
    for (const auto& file : snapshot.files) added.insert(storage::canonical(file.file.file_path));
  }
  std::erase_if(obsolete_objects,
                [&](const std::string& location) { return added.contains(location); });
}

base::Task<void> remove_obsolete_objects(base::RequestContext context, Catalog* catalog,
                                         std::vector<std::string> locations) {
  std::vector<storage::ObjectKey> keys;
  for (const auto& text : locations) {
    auto location = storage::Location::parse(text);
    if (!location) continue;
    if (auto key = location->key()) keys.push_back(*key);
  }
  context.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto removed = co_await catalog->removals->remove(context, std::move(keys));
  if (!removed) {
    catalog->log->for_request(context.request_id)
        .warning("manifests of a client were left behind after its commit",
                 {{"error", removed.error().message()}, {"detail", removed.error().detail()}});
  }
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kCleaned);
}

base::Task<void> finish_behind(Catalog* catalog, base::RequestContext context,
                               model::TableIdentifier identifier, publish::CacheEntryPtr entry,
                               std::vector<std::string> obsolete_objects) {
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kAnswered);
  auto recorded = co_await catalog->loaded_tables->record(std::move(identifier), std::move(entry),
                                                          publish::RecordTime::kWithOthers);
  if (!recorded && recorded.error().reason() != ducklake::kStale) {
    catalog->log->for_request(context.request_id)
        .warning("a publication could not be recorded; the table's next request makes it anew",
                 {{"error", recorded.error().message()}, {"detail", recorded.error().detail()}});
  }
  if (!obsolete_objects.empty()) {
    co_await remove_obsolete_objects(context, catalog, std::move(obsolete_objects));
  }
}

}  // namespace lake::operation
