// A commit of several tables, from top to bottom:
//   1 each table as it is, its requirements and updates, and what its new
//     snapshots add (table_cache/, storage/)
//   2 one PostgreSQL transaction for all of them, which checks that 1 still
//     holds (from_iceberg/write/)
//   3 behind the answer: the tables published, and the clients' manifests removed

#include "lakeproxy/from_iceberg/commit/new_table.h"
#include "lakeproxy/from_iceberg/commit/table_change.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

// A table changed between 1 and 2 so many times in a row: the client is told.
constexpr int kAttempts = 20;

struct Prepared {
  std::vector<ducklake::TableCommitPart> parts;
  std::vector<std::string> obsolete_objects;
};

void keep(std::vector<std::string> from, std::vector<std::string>& to) {
  for (auto& text : from) to.push_back(std::move(text));
}

base::Task<base::Result<Prepared>> prepare(base::RequestContext context, Catalog* catalog,
                                           auth::Principal principal,
                                           const std::vector<model::TableCommit>* commits) {
  Prepared all;
  for (const model::TableCommit& commit : *commits) {
    if (creates(commit)) {
      CO_ASSIGN_OR_RETURN(
          auto made, co_await prepare_new_table(context, catalog, *commit.identifier, &commit));
      all.parts.emplace_back(std::move(made.table));
      keep(std::move(made.obsolete_objects), all.obsolete_objects);
    } else {
      CO_ASSIGN_OR_RETURN(auto loaded,
                          co_await catalog->loaded_tables->get(context, *commit.identifier));
      CO_ASSIGN_OR_RETURN(const policy::PolicyVersion policies,
                          co_await check_sees_itself(context, catalog, principal, loaded));
      CO_ASSIGN_OR_RETURN(auto changed, co_await prepare_change(context, catalog, loaded, &commit));
      changed.change.policies = policies.value;
      all.parts.emplace_back(std::move(changed.change));
      keep(std::move(changed.obsolete_objects), all.obsolete_objects);
    }
  }
  co_return all;
}

base::Task<void> publish_behind(Catalog* catalog, base::RequestContext context,
                                std::vector<model::TableIdentifier> tables,
                                std::vector<std::string> obsolete_objects) {
  base::RequestContext own = context;
  own.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (const model::TableIdentifier& table : tables) {
    auto loaded = co_await catalog->loaded_tables->get(own, table);
    if (loaded || loaded.error().kind() == base::ErrorKind::kNotFound) continue;
    catalog->log->for_request(context.request_id)
        .warning("a table could not be published; its next request repeats it",
                 {{"table", table.display()},
                  {"error", loaded.error().message()},
                  {"detail", loaded.error().detail()}});
  }
  if (!obsolete_objects.empty()) {
    co_await remove_obsolete_objects(context, catalog, std::move(obsolete_objects));
  }
}

}  // namespace

base::Task<base::Result<void>> commit_transaction(base::RequestContext context, Catalog* catalog,
                                                  policy::Authorized<CommitTransaction> request) {
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kAsked);
  const std::vector<model::TableCommit>& commits = request->commits;
  for (int i = 0; i < kAttempts; ++i) {
    CO_ASSIGN_OR_RETURN(auto prepared,
                        co_await prepare(context, catalog, request.principal(), &commits));
    co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kPrepared);
    auto committed = co_await catalog->writer->keyed(request.key())
                         .commit_parts(context, std::move(prepared.parts));
    if (committed) {
      std::vector<model::TableIdentifier> tables;
      for (const auto& commit : commits) tables.push_back(*commit.identifier);
      catalog->background.spawn(publish_behind, context, std::move(tables),
                                std::move(prepared.obsolete_objects));
      co_return base::Result<void>{};
    }
    if (committed.error().reason() != ducklake::kStale) co_return std::move(committed).error();
  }
  co_return base::fail(base::ErrorKind::kConflict,
                       "The tables keep changing; nothing was committed.")
      .with_reason(ducklake::kBusy);
}

}  // namespace lake::operation
