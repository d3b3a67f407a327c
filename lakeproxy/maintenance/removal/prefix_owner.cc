#include "lakeproxy/maintenance/removal/prefix_owner.h"

#include <fmt/format.h>

#include "base/json/json.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using ducklake::LakeIdentity;

constexpr std::string_view kObjectName = "lakeproxy-owner.json";
constexpr std::size_t kMostBytes = 4096;
constexpr std::string_view kRemedy =
    ". Nothing is removed. If this database is the one that goes on, run lakeproxy gc --take-over";

base::Result<storage::ObjectKey> owner_key(const PrefixTools& tools) {
  return storage::key_in(tools.store->bucket(), owner_location(tools.prefix));
}

std::string text_of(const LakeIdentity& identity) {
  return base::json::write(base::json::Object{{"lake-id", identity.lake_id},
                                              {"system-identifier", identity.system_identifier},
                                              {"timeline", identity.timeline},
                                              {"database-number", identity.database_number},
                                              {"metadata-schema", identity.metadata_schema}});
}

// The first member in which they differ, as "timeline: 1 there, 2 here"; empty
// where they agree.
base::Result<std::string> difference(const std::string& there, const std::string& here) {
  ASSIGN_OR_RETURN(auto owner, base::json::parse(there, {.bytes = kMostBytes}));
  ASSIGN_OR_RETURN(auto own, base::json::parse(here, {.bytes = kMostBytes}));
  if (!owner.is_object()) return base::fail(ErrorKind::kCorrupt, "not a JSON object");
  for (const auto& member : own.as_object()) {
    const auto* said = owner.as_object().if_contains(member.key());
    if (said != nullptr && *said == member.value()) continue;
    return fmt::format("{}: {} there, {} here", std::string(member.key()),
                       said == nullptr ? "nothing" : base::json::write(*said),
                       base::json::write(member.value()));
  }
  return std::string();
}

base::Error not_ours(const PrefixTools& tools, std::string_view why) {
  return base::fail(ErrorKind::kConflict,
                    fmt::format("{} names another database as the owner of these files ({}){}",
                                owner_location(tools.prefix), why, kRemedy));
}

}  // namespace

std::string owner_location(const std::string& prefix) { return prefix + std::string(kObjectName); }

base::Task<base::Status> claim_prefix(base::RequestContext context, PrefixTools tools) {
  CO_ASSIGN_OR_RETURN(auto identity, co_await tools.upkeep->identity(context));
  if (identity.owner_written) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto key, owner_key(tools));
  CO_RETURN_IF_ERROR(co_await tools.store->put_if_absent(
      context, std::move(key), base::http::Body(text_of(identity)), "application/json"));
  co_return co_await tools.upkeep->note_owner(context, ducklake::Ownership::kFirst);
}

base::Task<base::Status> check_owner(base::RequestContext context, PrefixTools tools) {
  CO_RETURN_IF_ERROR(co_await claim_prefix(context, tools));
  CO_ASSIGN_OR_RETURN(auto identity, co_await tools.upkeep->identity(context));
  CO_ASSIGN_OR_RETURN(auto key, owner_key(tools));
  auto there = co_await tools.store->get(context, std::move(key));
  if (!there && there.error().kind() == ErrorKind::kNotFound) {
    co_return base::fail(ErrorKind::kConflict,
                         fmt::format("{} is not there, so nothing says which database owns these "
                                     "files{}",
                                     owner_location(tools.prefix), kRemedy));
  }
  if (!there) co_return std::move(there).error();
  auto differs = difference(*there, text_of(identity));
  if (!differs) co_return not_ours(tools, "it cannot be read");
  if (!differs->empty()) co_return not_ours(tools, *differs);
  co_return base::Status{};
}

base::Task<base::Result<std::string>> take_over(base::RequestContext context, PrefixTools tools) {
  CO_ASSIGN_OR_RETURN(auto identity, co_await tools.upkeep->identity(context));
  CO_ASSIGN_OR_RETURN(auto key, owner_key(tools));
  auto before = co_await tools.store->get(context, key);
  if (!before) {
    if (before.error().kind() != ErrorKind::kNotFound) co_return std::move(before).error();
    before = std::string();
  }
  CO_RETURN_IF_ERROR(co_await tools.store->put(
      context, std::move(key), base::http::Body(text_of(identity)), "application/json"));
  CO_RETURN_IF_ERROR(co_await tools.upkeep->note_owner(context, ducklake::Ownership::kTakenOver));
  co_return std::move(*before);
}

}  // namespace lake::operation
