#include "lakeproxy/operation/see_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <variant>

#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/governance/resolver.h"
#include "lakeproxy/to_iceberg/masked/mask_marks.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Task;
using policy::ReadKind;
using policy::ReadPlan;

base::Error refused(const publish::LoadedTable& loaded, const std::string& why) {
  return base::fail(ErrorKind::kForbidden, fmt::format("table {}: {}", loaded.table.name, why))
      .with_reason(kMasked);
}

std::string names_of(const policy::MaskPlan& plan) {
  return fmt::format("{}", fmt::join(policy::policies_of(plan), ", "));
}

// What a read gets where nobody can tell the policies.
base::Result<std::optional<SeenTable>> without_plan(const Catalog& catalog,
                                                    publish::LoadedTablePtr loaded,
                                                    const base::Error& error) {
  const bool open =
      error.reason() == governance::kNoMaskInFiles && !catalog.governance_fails_closed;
  if (open) {
    return SeenTable{
        .loaded = std::move(loaded), .file_mask = nullptr, .unmasked_because = error.message()};
  }
  if (error.kind() == ErrorKind::kCancelled) return error;
  return base::fail(ErrorKind::kUnavailable,
                    fmt::format("table {}: its policies cannot be told", loaded->table.name))
      .with_reason(kGovernanceFailed)
      .with_detail(fmt::format("{} {}", error.message(), error.detail()));
}

// Other processes make copies too: what is recorded is looked at, not waited for.
constexpr std::chrono::milliseconds kFirstPause{25};
constexpr std::chrono::milliseconds kLongestPause{1000};

base::Error made_but_hidden(const base::Error& cause) {
  return base::fail(cause.kind(), fmt::format("The change was made, and cannot be shown to you: {}",
                                              cause.message()))
      .with_reason(cause.reason())
      .with_detail(cause.detail());
}

// Nothing: the files hold the masks.
base::Result<std::optional<SeenTable>> seen_of(const Catalog& catalog,
                                               publish::LoadedTablePtr loaded,
                                               const base::Result<ReadPlan>& planned) {
  if (!planned) return without_plan(catalog, std::move(loaded), planned.error());
  const ReadPlan& plan = *planned;
  switch (plan.kind()) {
    case ReadKind::kRaw:
      return SeenTable{.loaded = std::move(loaded),
                       .file_mask = nullptr,
                       .lifted = plan.lifted(),
                       .version = plan.version()};
    case ReadKind::kCooperative:
      return SeenTable{.loaded = catalog.masked_tables->marked(loaded, plan.mask()),
                       .file_mask = nullptr,
                       .told_mask = plan.mask(),
                       .version = plan.version()};
    case ReadKind::kRefused: return refused(*loaded, plan.reason());
    case ReadKind::kFileMask: break;
  }
  return std::nullopt;
}

}  // namespace

Task<base::Result<SeenTable>> see_table(RequestContext context, Catalog* catalog,
                                        auth::Principal principal, publish::LoadedTablePtr loaded) {
  auto planned = co_await catalog->read_plan(context, std::move(principal), loaded);
  CO_ASSIGN_OR_RETURN(auto seen, seen_of(*catalog, loaded, planned));
  if (seen) co_return std::move(*seen);
  CO_ASSIGN_OR_RETURN(auto shadow, co_await catalog->masked_tables->get(context, std::move(loaded),
                                                                        planned->mask()));
  co_return SeenTable{
      .loaded = std::move(shadow), .file_mask = planned->mask(), .version = planned->version()};
}

Task<base::Result<SeenTable>> see_made_table(RequestContext context, Catalog* catalog,
                                             auth::Principal principal,
                                             publish::LoadedTablePtr loaded) {
  std::chrono::milliseconds pause = kFirstPause;
  while (true) {
    auto seen = co_await see_table(context, catalog, principal, loaded);
    if (seen) co_return seen;
    const auto again = std::chrono::steady_clock::now() + pause;
    if (seen.error().reason() != masked::kCopiesMissing || again >= context.deadline) {
      co_return made_but_hidden(seen.error());
    }
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, again);
    co_await timer.async_wait(boost::asio::use_awaitable);
    pause = std::min(pause * 2, kLongestPause);
  }
}

Task<base::Result<SeenTable>> see_lake_table(RequestContext context, Catalog* catalog,
                                             auth::Principal principal,
                                             publish::LoadedTablePtr loaded) {
  auto planned = co_await catalog->read_plan(context, std::move(principal), loaded);
  CO_ASSIGN_OR_RETURN(auto seen, seen_of(*catalog, loaded, planned));
  if (seen) co_return std::move(*seen);
  co_return refused(*loaded, "its files are masked for you: load it through the Iceberg API");
}

Task<base::Result<policy::PolicyVersion>> check_sees_itself(RequestContext context,
                                                            Catalog* catalog,
                                                            auth::Principal principal,
                                                            publish::LoadedTablePtr loaded) {
  CO_ASSIGN_OR_RETURN(const ReadPlan plan,
                      co_await catalog->read_plan(context, std::move(principal), loaded));
  switch (plan.kind()) {
    case ReadKind::kRaw:
    case ReadKind::kCooperative: co_return plan.version();
    case ReadKind::kRefused: co_return refused(*loaded, plan.reason());
    case ReadKind::kFileMask: break;
  }
  co_return refused(*loaded, fmt::format("rows are hidden from you by policy {}: whoever does not "
                                         "see them cannot change the table",
                                         names_of(*plan.mask())));
}

base::Error only_newest_is_masked(std::string_view member) {
  return base::fail(base::ErrorKind::kUnsupported,
                    fmt::format("{}: masked files are there for the newest snapshot only", member));
}

void drop_mask_notes(model::TableCommit& commit) {
  for (model::TableUpdate& update : commit.updates) {
    if (auto* added = std::get_if<model::AddSchema>(&update)) masked::drop_notes(added->schema);
  }
}

}  // namespace lake::operation
