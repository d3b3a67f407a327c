#include "lakeproxy/operation/see_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "lakeproxy/ducklake/lake/reasons.h"

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

std::string policies_of(const policy::MaskPlan& plan) {
  std::set<std::string> names;
  for (const auto& mask : plan.masks) names.insert(mask.policy);
  for (const auto& filter : plan.filters) names.insert(filter.policy);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Task<base::Result<SeenTable>> see_table(RequestContext context, Catalog* catalog,
                                        auth::Principal principal, publish::LoadedTablePtr loaded) {
  CO_ASSIGN_OR_RETURN(const ReadPlan plan,
                      co_await catalog->read_plan(context, std::move(principal), loaded));
  switch (plan.kind()) {
    case ReadKind::kRaw:
    case ReadKind::kCooperative: co_return SeenTable{std::move(loaded), nullptr};
    case ReadKind::kRefused: co_return refused(*loaded, plan.reason());
    case ReadKind::kFileMask: break;
  }
  CO_ASSIGN_OR_RETURN(
      auto shadow, co_await catalog->masked_tables->get(context, std::move(loaded), plan.mask()));
  co_return SeenTable{std::move(shadow), plan.mask()};
}

Task<base::Status> check_sees_itself(RequestContext context, Catalog* catalog,
                                     auth::Principal principal, publish::LoadedTablePtr loaded) {
  CO_ASSIGN_OR_RETURN(const ReadPlan plan,
                      co_await catalog->read_plan(context, std::move(principal), loaded));
  switch (plan.kind()) {
    case ReadKind::kRaw:
    case ReadKind::kCooperative: co_return base::Status{};
    case ReadKind::kRefused: co_return refused(*loaded, plan.reason());
    case ReadKind::kFileMask: break;
  }
  co_return refused(*loaded, fmt::format("rows are hidden from you by policy {}: whoever does not "
                                         "see them cannot change the table",
                                         policies_of(*plan.mask())));
}

Task<base::Status> check_sees_itself(RequestContext context, Catalog* catalog,
                                     auth::Principal principal, model::TableIdentifier identifier) {
  // Who may make a commit is asked anew, though it begins at the table as it was last seen here. A
  // catalog without any policy pays nothing for that.
  if (catalog->loaded_tables->policy_version() == kNoPolicies &&
      catalog->loaded_tables->newest_known(identifier) != nullptr) {
    co_return base::Status{};
  }
  auto found = co_await catalog->loaded_tables->get(context, std::move(identifier));
  if (!found && found.error().reason() == ducklake::kNoSuchTable) co_return base::Status{};
  if (!found) co_return std::move(found).error();
  co_return co_await check_sees_itself(context, catalog, std::move(principal), std::move(*found));
}

}  // namespace lake::operation
