#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/delegation/access_delegation.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {

namespace json = base::json;

base::Result<operation::VendDuckLake> vend_ducklake_of(const Call& call) {
  operation::VendDuckLake vend;
  ASSIGN_OR_RETURN(vend.name_space, namespace_of(call));
  if (auto table = call.request->query("table")) {
    if (table->empty()) return base::fail(base::ErrorKind::kInvalid, "table: must not be empty");
    vend.table = std::move(*table);
  }
  return vend;
}

namespace {

std::string time_text(base::WallTime time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::floor<std::chrono::seconds>(time)));
}

json::Object keys_json(const delegation::ReaderKeys& reader) {
  const storage::Credentials& keys = reader.keys.credentials;
  return {{"endpoint", reader.config.at("s3.endpoint")},
          {"region", reader.config.at("s3.region")},
          {"path-style-access", reader.config.at("s3.path-style-access") == "true"},
          {"access-key-id", keys.access_key},
          {"secret-access-key", keys.secret_key.reveal()},
          {"session-token", keys.session_token.reveal()},
          {"expiration", time_text(reader.keys.expires)}};
}

// Members of masks that are not there are null.
void tell_mask(const operation::LakeMask& mask, json::Object& answer) {
  if (!mask.view.empty()) answer["masked_view"] = mask.view;
  answer["mask_signature"] = mask.plan->signature;
  answer["mask_projection"] = mask.projection;
  if (!mask.plan->filters.empty()) answer["row_filter"] = policy::row_filter_of(*mask.plan);
}

json::Object answer_of(const operation::DuckLakeAccess& access) {
  json::Object answer{{"ducklake_dsn", access.dsn.reveal()},
                      {"ducklake_data_path", access.data_path},
                      {"ducklake_attach_sql", access.attach_sql.reveal()},
                      {"post_attach_sql",
                       json::Array(access.post_attach_sql.begin(), access.post_attach_sql.end())},
                      {"pg_role", access.role}};
  answer["pg_valid_until"] = nullptr;
  if (access.valid_until) answer["pg_valid_until"] = time_text(*access.valid_until);
  for (const char* member :
       {"masked_view", "mask_signature", "mask_projection", "row_filter", "scan_files", "s3"}) {
    answer[member] = nullptr;
  }
  if (access.mask) tell_mask(*access.mask, answer);
  answer["transparent"] = access.is_transparent;
  answer["file_layer"] = false;
  return answer;
}

// What the trail keeps of masks: which tables have them, and which are open and why.
void tell_masks(const operation::DuckLakeAccess& access, audit::AuditRecord& record) {
  json::Object detail{{"pg_role", access.role}};
  if (!access.masked_tables.empty()) {
    detail["masked_tables"] = json::Array(access.masked_tables.begin(), access.masked_tables.end());
  }
  std::vector<std::string> open;
  for (const auto& [table, because] : access.failed_open) {
    open.push_back(fmt::format("{}: {}", table, because));
  }
  if (!open.empty()) {
    record.decision = "failed_open";
    detail["unmasked_because"] = fmt::format("{}", fmt::join(open, "; "));
  }
  if (access.mask) {
    record.masked_cols = policy::masked_columns_of(*access.mask->plan);
    record.applied_policies = policy::policies_of(*access.mask->plan);
  }
  record.detail = json::write(detail);
}

// Keys that read what the login does, and end when it does: neither is of use without the other,
// and keys that nobody can take back must not outlive the login. Where STS gives less time than the
// login has, the login ends sooner.
base::Task<base::Result<std::optional<delegation::ReaderKeys>>> keys_beside(
    RequestContext context, Call* call, operation::DuckLakeAccess* access) {
  auto* delegation = call->catalog()->delegation;
  if (delegation == nullptr) co_return std::nullopt;
  CO_ASSIGN_OR_RETURN(
      auto keys, co_await delegation->for_direct_reader(context, call->catalog(), call->principal,
                                                        access->folders, access->valid_until));
  if (keys && access->valid_until && keys->keys.expires < *access->valid_until) {
    access->valid_until = std::chrono::floor<std::chrono::seconds>(keys->keys.expires);
    CO_RETURN_IF_ERROR(co_await call->services->direct->logins->end_at(
        context, call->catalog()->lake.metadata_schema, access->role, *access->valid_until));
  }
  co_return keys;
}

}  // namespace

ActionResult vend_ducklake(RequestContext context, Call* call,
                           Authorized<operation::VendDuckLake> request) {
  const std::string object = policy::display(targets(*request));
  CO_ASSIGN_OR_RETURN(
      auto access, co_await operation::vend_ducklake(context, call->catalog(),
                                                     call->services->direct, std::move(request)));
  if (auto* trail = call->catalog()->audit) {
    auto record = audit::record_of(call->principal, "ducklake_credentials", object, "allowed");
    tell_masks(access, record);
    CO_RETURN_IF_ERROR(co_await trail->write(context, std::move(record)));
  }
  CO_ASSIGN_OR_RETURN(const auto keys, co_await keys_beside(context, call, &access));
  json::Object answer = answer_of(access);
  if (keys) answer["s3"] = keys_json(*keys);
  auto response = json_response(200, json::Value(std::move(answer)));
  response.headers.add("Cache-Control", "no-store");
  co_return response;
}

}  // namespace lake::http
