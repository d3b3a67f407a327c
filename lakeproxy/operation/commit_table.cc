// A commit, from top to bottom:
//   1 the table as it is now (publish/)
//   2 requirements and updates on it, as values
//   3 what the client's new snapshots add, read from the object store (objects/)
//   4 one PostgreSQL transaction, which checks that 1 still holds (ducklake/)
//   5 the new snapshots published, and the view that is the answer (publish/)

#include "lakeproxy/model/metadata_change.h"
#include "lakeproxy/objects/location_rules.h"
#include "lakeproxy/operation/client_snapshot.h"
#include "lakeproxy/operation/new_table.h"
#include "lakeproxy/operation/tables.h"
#include "lakeproxy/operation/update_plan.h"

namespace lake::operation {
namespace {

using base::ErrorKind;

// The table changed between 1 and 4 so many times in a row: the client is told.
constexpr int kAttempts = 20;

base::Status check_requirements(const publish::TableView& view, const model::TableCommit& commit) {
  for (const auto& requirement : commit.requirements) {
    RETURN_IF_ERROR(
        model::check_requirement(&view.metadata, resolve_aliases(view.table, requirement)));
  }
  return {};
}

struct Attempt {
  bool stale = false;
  std::vector<std::string> left_over;  ///< The client's lists and manifests.
};

model::TimestampMs now_ms(const base::Clock& clock) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock.now().time_since_epoch())
      .count();
}

base::Task<base::Result<Attempt>> attempt(base::RequestContext context, Catalog* catalog,
                                          publish::TableViewPtr view,
                                          const model::TableCommit* commit) {
  CO_RETURN_IF_ERROR(check_requirements(*view, *commit));
  CO_ASSIGN_OR_RETURN(auto plan, plan_updates(&view->table, view->metadata, commit->updates));
  Attempt result;
  ducklake::TableChange change;
  change.before = std::shared_ptr<const model::LakeTable>(view, &view->table);
  change.after = std::move(plan.after);
  change.after.last_updated_ms = now_ms(*catalog->clock);
  const model::Snapshot* current = view->metadata.current_snapshot();
  std::string list = current != nullptr ? current->manifest_list : "";
  for (auto& snapshot : plan.snapshots) {
    // A second snapshot of one request stands on the first: its list holds
    // that one's manifests, and what it adds is what the first did not have.
    CO_ASSIGN_OR_RETURN(
        auto read, co_await read_client_snapshot(context, catalog, &change.after, list, snapshot));
    list = snapshot.manifest_list;
    change.snapshots.push_back(std::move(read.added));
    for (auto& object : read.objects) result.left_over.push_back(std::move(object));
  }
  auto committed = co_await catalog->writer->change_table(context, std::move(change));
  if (committed) co_return result;
  if (committed.error().reason() != ducklake::kStale) co_return std::move(committed).error();
  result.stale = true;
  co_return result;
}

base::Task<void> remove_left_over(base::RequestContext context, Catalog* catalog,
                                  std::vector<std::string> locations) {
  std::vector<objects::ObjectKey> keys;
  for (const auto& text : locations) {
    auto location = objects::Location::parse(text);
    if (!location) continue;
    if (auto key = location->key()) keys.push_back(*key);
  }
  context.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto removed = co_await catalog->store->remove_many(context, std::move(keys));
  if (!removed || !removed->empty()) {
    catalog->log->for_request(context.request_id)
        .warning("manifests of a client were left behind after its commit");
  }
}

bool creates(const model::TableCommit& commit) {
  for (const auto& requirement : commit.requirements) {
    if (std::holds_alternative<model::AssertCreate>(requirement)) return true;
  }
  return false;
}

}  // namespace

base::Task<base::Result<publish::TableViewPtr>> commit_table(
    base::RequestContext context, Catalog* catalog, govern::Authorized<CommitTable> request) {
  const model::TableCommit& commit = request->commit;
  if (creates(commit)) {
    CO_ASSIGN_OR_RETURN(auto left_over,
                        co_await commit_new_table(context, catalog, request->identifier, &commit));
    auto view = co_await catalog->views->get(context, request->identifier);
    if (view && !left_over.empty()) {
      catalog->background->spawn(remove_left_over(context, catalog, std::move(left_over)));
    }
    co_return view;
  }
  for (int i = 0; i < kAttempts; ++i) {
    CO_ASSIGN_OR_RETURN(auto view, co_await catalog->views->get(context, request->identifier));
    CO_ASSIGN_OR_RETURN(auto done, co_await attempt(context, catalog, view, &commit));
    if (done.stale) continue;
    auto after = co_await catalog->views->get(context, request->identifier);
    if (!after) {
      // The commit is there; only its publication failed, and the next load
      // repeats that. The client must not take it for undone.
      co_return base::fail(ErrorKind::kOutcomeUnknown,
                           "The commit was made, but its metadata could not be written yet.")
          .with_detail(after.error().message() + ": " + after.error().detail());
    }
    if (!done.left_over.empty()) {
      catalog->background->spawn(remove_left_over(context, catalog, std::move(done.left_over)));
    }
    co_return after;
  }
  co_return base::fail(ErrorKind::kConflict, "The table keeps changing; nothing was committed.");
}

}  // namespace lake::operation
