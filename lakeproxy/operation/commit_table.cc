// A commit, from top to bottom:
//   1 the table as it was last seen (table_cache/)
//   2 requirements and updates on it, as values
//   3 what the client's new snapshots add, read from the object store (storage/)
//   4 one PostgreSQL transaction, which checks that 1 still holds (from_iceberg/write/)
//   5 the new snapshots published, all that the answer names put at once, and the loaded table
//     that is the answer (to_iceberg/publish/)
//   6 behind the answer: the publication recorded together with others, and the client's
//     manifests removed

#include <utility>

#include "lakeproxy/from_iceberg/commit/new_table.h"
#include "lakeproxy/from_iceberg/commit/table_change.h"
#include "lakeproxy/operation/catalog/commit_metrics.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using Key = std::optional<model::IdempotencyKey>;

// The table changed between 1 and 4 so many times in a row: the client is told.
constexpr int kAttempts = 20;

// What is committed is shown, and its client told, also when the commit itself has taken
// all of the request's time.
constexpr std::chrono::seconds kTimeToShow{10};

base::RequestContext with_time_to_show(base::RequestContext context) {
  context.deadline = std::max(context.deadline, std::chrono::steady_clock::now() + kTimeToShow);
  return context;
}

struct Attempt {
  ducklake::ChangedTable changed;
  std::vector<std::string> obsolete_objects;  ///< The client's lists and manifests.
};

// What the commit asks for, on what, and who asks.
struct RequestedCommit {
  const model::TableIdentifier* identifier;
  const model::TableCommit* commit;
  const Key* key;
  auth::Principal principal;
};

// Who may change the table is asked of the policies as they are known here: the transaction checks
// that they are still those.
base::Task<base::Result<Attempt>> attempt(base::RequestContext context, Catalog* catalog,
                                          RequestedCommit requested,
                                          publish::LoadedTablePtr loaded) {
  CO_ASSIGN_OR_RETURN(
      const policy::PolicyVersion policies,
      co_await check_sees_itself(context, catalog, std::move(requested.principal), loaded));
  CO_ASSIGN_OR_RETURN(auto prepared,
                      co_await prepare_change(context, catalog, loaded, requested.commit));
  prepared.change.policies = policies.value;
  Attempt result;
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kPrepared);
  result.obsolete_objects = std::move(prepared.obsolete_objects);
  CO_ASSIGN_OR_RETURN(result.changed, co_await catalog->writer->keyed(*requested.key)
                                          .change_table(context, std::move(prepared.change)));
  co_return result;
}

struct CompletedCommit {
  publish::LoadedTablePtr loaded;  ///< The base version of the commit.
  Attempt attempt;
};

// The table as this process last saw it is good enough to begin with: the
// transaction checks that it still holds. But a refusal counts only when it was
// made on the table as it is.
base::Task<base::Result<CompletedCommit>> commit(base::RequestContext context, Catalog* catalog,
                                                 RequestedCommit requested) {
  publish::CacheEntryPtr known = catalog->loaded_tables->newest_known(*requested.identifier);
  bool is_current = known == nullptr || publish::has_failed(*known->loaded);
  publish::LoadedTablePtr loaded;
  if (is_current) {
    CO_ASSIGN_OR_RETURN(loaded,
                        co_await catalog->loaded_tables->get(context, *requested.identifier));
  } else {
    loaded = known->loaded;
  }
  for (int i = 0; i < kAttempts; ++i) {
    const std::int64_t policies = catalog->loaded_tables->policy_version();
    auto done = co_await attempt(context, catalog, requested, loaded);
    if (done) co_return CompletedCommit{std::move(loaded), std::move(*done)};
    if (done.error().kind() == ErrorKind::kOutcomeUnknown ||
        done.error().reason() == ducklake::kAlreadyDone) {
      co_return std::move(done).error();
    }
    const bool stale = done.error().reason() == ducklake::kStale;
    if (is_current && !stale) co_return std::move(done).error();
    CO_ASSIGN_OR_RETURN(auto now,
                        co_await catalog->loaded_tables->get(context, *requested.identifier));
    const bool same = now == loaded && policies == catalog->loaded_tables->policy_version();
    if (same && !stale) co_return std::move(done).error();
    loaded = std::move(now);
    is_current = true;
  }
  co_return base::fail(ErrorKind::kConflict, "The table keeps changing; nothing was committed.")
      .with_reason(ducklake::kBusy);
}

// The table after the commit, and what is left to be done of its publication.
base::Task<base::Result<publish::CacheEntryPtr>> publish_commit(
    base::RequestContext context, Catalog* catalog, const model::TableIdentifier* identifier,
    publish::LoadedTablePtr before, ducklake::ChangedTable changed) {
  if (changed.known) {
    co_return co_await catalog->loaded_tables->publish_known(context, *identifier,
                                                             std::move(before), std::move(changed));
  }
  catalog->loaded_tables->note_commit(changed, before->table.table_id);
  auto entry = std::make_shared<publish::CacheEntry>();
  CO_ASSIGN_OR_RETURN(entry->loaded, co_await catalog->loaded_tables->get(context, *identifier));
  // Another commit came before this one, whose files must be copied first.
  if (entry->loaded->table.waits_for_copies) {
    co_return base::fail(ErrorKind::kUnavailable, "the table waits for readable copies");
  }
  co_return publish::CacheEntryPtr(std::move(entry));
}

// The commit is there; only its publication failed, and the next load repeats
// that. Whatever the cause, the client must not take the commit for undone.
base::Error made_but_not_shown(const base::Error& cause) {
  return base::fail(ErrorKind::kOutcomeUnknown,
                    "The commit was made, but its metadata could not be written yet.")
      .with_detail(cause.message() + ": " + cause.detail());
}

// Policies hide the table from whoever has made it, or its masked copies took too long. Its files
// are the lake's by now: a client that took it for undone would remove them.
base::Error made_but_hidden(const base::Error& cause) {
  return base::fail(ErrorKind::kOutcomeUnknown, cause.message()).with_detail(cause.detail());
}

// The answer, and what is to be done behind it.
struct Answer {
  publish::CacheEntryPtr entry;
  std::vector<std::string> obsolete_objects;
};

base::Task<base::Result<Answer>> create_by_commit(base::RequestContext context, Catalog* catalog,
                                                  const CommitTable* request, const Key* key) {
  CO_ASSIGN_OR_RETURN(
      auto committed,
      co_await commit_new_table(context, catalog, request->identifier, &request->commit, *key));
  auto entry = co_await catalog->loaded_tables->publish_created(
      with_time_to_show(context), request->identifier, std::move(committed.created));
  if (!entry) co_return made_but_not_shown(entry.error());
  co_return Answer{std::move(*entry), std::move(committed.obsolete_objects)};
}

base::Task<base::Result<Answer>> change_by_commit(base::RequestContext context, Catalog* catalog,
                                                  const CommitTable* request, const Key* key,
                                                  auth::Principal principal) {
  const RequestedCommit requested{&request->identifier, &request->commit, key,
                                  std::move(principal)};
  CO_ASSIGN_OR_RETURN(auto done, co_await commit(context, catalog, requested));
  auto entry = co_await publish_commit(with_time_to_show(context), catalog, &request->identifier,
                                       std::move(done.loaded), std::move(done.attempt.changed));
  if (!entry) co_return made_but_not_shown(entry.error());
  co_return Answer{std::move(*entry), std::move(done.attempt.obsolete_objects)};
}

}  // namespace

base::Task<base::Result<ShownTable>> commit_table(base::RequestContext context, Catalog* catalog,
                                                  policy::Authorized<CommitTable> request) {
  MeasuredCommit measured(*catalog->commit_metrics, *catalog->meter, context.request_id);
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kAsked);
  const CommitTable* requested = &*request;
  const Key* key = &request.key();
  auto answer =
      creates(requested->commit)
          ? co_await create_by_commit(context, catalog, requested, key)
          : co_await change_by_commit(context, catalog, requested, key, request.principal());
  if (!answer) co_return std::move(answer).error();
  measured.answered();
  auto seen = co_await see_table(with_time_to_show(context), catalog, request.principal(),
                                 answer->entry->loaded);
  publish::LoadedTablePtr loaded = answer->entry->loaded;
  catalog->background.spawn(finish_behind, context, requested->identifier, std::move(answer->entry),
                            std::move(answer->obsolete_objects));
  if (!seen) {
    seen = co_await see_made_table(with_time_to_show(context), catalog, request.principal(),
                                   std::move(loaded));
  }
  if (!seen) co_return made_but_hidden(seen.error());
  co_return ShownTable(request, *catalog, std::move(*seen));
}

}  // namespace lake::operation
