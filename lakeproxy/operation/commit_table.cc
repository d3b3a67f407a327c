// A commit, from top to bottom:
//   1 the table as it was last seen (table_cache/)
//   2 requirements and updates on it, as values
//   3 what the client's new snapshots add, read from the object store (storage/)
//   4 one PostgreSQL transaction, which checks that 1 still holds (from_iceberg/write/)
//   5 the new snapshots published, and the view that is the answer (to_iceberg/publish/)
//   6 behind the answer: the metadata file, the record of it together with
//     others, and the client's manifests removed

#include <utility>

#include "lakeproxy/from_iceberg/commit/new_table.h"
#include "lakeproxy/from_iceberg/commit/table_change.h"
#include "lakeproxy/operation/catalog/commit_metrics.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using Key = std::optional<model::ChangeKey>;

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
  std::vector<std::string> left_over;  ///< The client's lists and manifests.
};

// What the commit asks for, and on what.
struct Asked {
  const model::TableIdentifier* identifier;
  const model::TableCommit* commit;
  const Key* key;
};

// `known`: `view` as it was found in memory, whose metadata file may be on its
// way; null when it was loaded. It must be there before the transaction begins,
// and while it is not, the client's files are read.
base::Task<base::Result<Attempt>> attempt(base::RequestContext context, Catalog* catalog,
                                          Asked asked, publish::TableViewPtr view,
                                          publish::SharedViews::HeldPtr known) {
  CO_ASSIGN_OR_RETURN(auto prepared, co_await prepare_change(context, catalog, view, asked.commit));
  if (known) {
    CO_RETURN_IF_ERROR(
        co_await catalog->views->settle(context, *asked.identifier, std::move(known)));
  }
  Attempt result;
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kPrepared);
  result.left_over = std::move(prepared.left_over);
  CO_ASSIGN_OR_RETURN(result.changed, co_await catalog->writer->keyed(*asked.key)
                                          .change_table(context, std::move(prepared.change)));
  co_return result;
}

struct Done {
  publish::TableViewPtr view;  ///< The table that the commit stands on.
  Attempt attempt;
};

// The table as this process last saw it is good enough to begin with: the
// transaction checks that it still holds. But a refusal counts only when it was
// made on the table as it is.
base::Task<base::Result<Done>> commit(base::RequestContext context, Catalog* catalog, Asked asked) {
  publish::SharedViews::HeldPtr known = catalog->views->newest_known(*asked.identifier);
  bool is_current = known == nullptr;
  publish::TableViewPtr view;
  if (is_current) {
    CO_ASSIGN_OR_RETURN(view, co_await catalog->views->get(context, *asked.identifier));
  } else {
    view = known->view;
  }
  for (int i = 0; i < kAttempts; ++i) {
    auto done = co_await attempt(context, catalog, asked, view, std::exchange(known, nullptr));
    if (done) co_return Done{std::move(view), std::move(*done)};
    if (done.error().kind() == ErrorKind::kOutcomeUnknown ||
        done.error().reason() == ducklake::kAlreadyDone) {
      co_return std::move(done).error();
    }
    const bool stale = done.error().reason() == ducklake::kStale;
    if (is_current && !stale) co_return std::move(done).error();
    CO_ASSIGN_OR_RETURN(auto now, co_await catalog->views->get(context, *asked.identifier));
    if (now == view && !stale) co_return std::move(done).error();
    view = std::move(now);
    is_current = true;
  }
  co_return base::fail(ErrorKind::kConflict, "The table keeps changing; nothing was committed.")
      .with_reason(ducklake::kBusy);
}

base::Task<void> finish_behind(Catalog* catalog, base::RequestContext context,
                               model::TableIdentifier identifier,
                               publish::SharedViews::HeldPtr held,
                               std::vector<std::string> left_over) {
  base::RequestContext own = context;
  own.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto recorded = co_await catalog->views->record(own, std::move(identifier), std::move(held),
                                                  publish::RecordTime::kWithOthers);
  if (!recorded && recorded.error().reason() != ducklake::kStale) {
    catalog->log->for_request(context.request_id)
        .warning("a publication could not be finished; the table's next request makes it anew",
                 {{"error", recorded.error().message()}, {"detail", recorded.error().detail()}});
  }
  if (!left_over.empty()) co_await remove_left_over(context, catalog, std::move(left_over));
}

// The view after the commit, and what is left to be done of its publication.
base::Task<base::Result<publish::SharedViews::HeldPtr>> publish_commit(
    base::RequestContext context, Catalog* catalog, const model::TableIdentifier* identifier,
    publish::TableViewPtr before, ducklake::ChangedTable changed) {
  if (changed.appended) {
    co_return co_await catalog->views->publish_appended(context, *identifier, std::move(before),
                                                        std::move(changed));
  }
  auto held = std::make_shared<publish::SharedViews::Held>();
  CO_ASSIGN_OR_RETURN(held->view, co_await catalog->views->get(context, *identifier));
  co_return publish::SharedViews::HeldPtr(std::move(held));
}

// The commit is there; only its publication failed, and the next load repeats
// that. Whatever the cause, the client must not take the commit for undone.
base::Error made_but_not_shown(const base::Error& cause) {
  return base::fail(ErrorKind::kOutcomeUnknown,
                    "The commit was made, but its metadata could not be written yet.")
      .with_detail(cause.message() + ": " + cause.detail());
}

// The answer, and what is to be done behind it.
struct Answer {
  publish::SharedViews::HeldPtr held;
  std::vector<std::string> left_over;
};

base::Task<base::Result<Answer>> create_by_commit(base::RequestContext context, Catalog* catalog,
                                                  const CommitTable* request, const Key* key) {
  Answer answer;
  CO_ASSIGN_OR_RETURN(
      answer.left_over,
      co_await commit_new_table(context, catalog, request->identifier, &request->commit, *key));
  auto view = co_await catalog->views->get(with_time_to_show(context), request->identifier);
  if (!view) co_return made_but_not_shown(view.error());
  auto held = std::make_shared<publish::SharedViews::Held>();
  held->view = std::move(*view);
  answer.held = std::move(held);
  co_return answer;
}

base::Task<base::Result<Answer>> change_by_commit(base::RequestContext context, Catalog* catalog,
                                                  const CommitTable* request, const Key* key) {
  const Asked asked{&request->identifier, &request->commit, key};
  CO_ASSIGN_OR_RETURN(auto done, co_await commit(context, catalog, asked));
  auto held = co_await publish_commit(with_time_to_show(context), catalog, &request->identifier,
                                      std::move(done.view), std::move(done.attempt.changed));
  if (!held) co_return made_but_not_shown(held.error());
  co_return Answer{std::move(*held), std::move(done.attempt.left_over)};
}

}  // namespace

base::Task<base::Result<publish::TableViewPtr>> commit_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CommitTable> request) {
  MeasuredCommit measured(*catalog->commit_metrics, *catalog->meter, context.request_id);
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kAsked);
  const CommitTable* asked = &*request;
  const Key* key = &request.key();
  auto answer = creates(asked->commit) ? co_await create_by_commit(context, catalog, asked, key)
                                       : co_await change_by_commit(context, catalog, asked, key);
  if (!answer) co_return std::move(answer).error();
  measured.answered();
  publish::TableViewPtr view = answer->held->view;
  catalog->background.spawn(finish_behind, context, asked->identifier, std::move(answer->held),
                            std::move(answer->left_over));
  co_return view;
}

}  // namespace lake::operation
