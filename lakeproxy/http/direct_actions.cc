#include <fmt/chrono.h>

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

json::Object keys_json(const delegation::ReaderKeys& reader) {
  const storage::Credentials& keys = reader.keys.credentials;
  const auto expires = std::chrono::floor<std::chrono::seconds>(reader.keys.expires);
  return {{"endpoint", reader.config.at("s3.endpoint")},
          {"region", reader.config.at("s3.region")},
          {"path-style-access", reader.config.at("s3.path-style-access") == "true"},
          {"access-key-id", keys.access_key},
          {"secret-access-key", keys.secret_key.reveal()},
          {"session-token", keys.session_token.reveal()},
          {"expiration", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(expires))}};
}

// No policy masks anything yet: the members that say how are there, empty.
json::Object answer_of(const operation::DuckLakeAccess& access) {
  json::Object answer{{"ducklake_dsn", access.dsn.reveal()},
                      {"ducklake_data_path", access.data_path},
                      {"ducklake_attach_sql", access.attach_sql.reveal()},
                      {"post_attach_sql", json::Array()},
                      {"pg_role", access.role}};
  answer["pg_valid_until"] = nullptr;
  if (access.valid_until) answer["pg_valid_until"] = *access.valid_until;
  for (const char* member :
       {"masked_view", "mask_signature", "mask_projection", "row_filter", "scan_files", "s3"}) {
    answer[member] = nullptr;
  }
  answer["transparent"] = false;
  answer["file_layer"] = false;
  return answer;
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
    record.detail = json::write(json::Object{{"pg_role", access.role}});
    CO_RETURN_IF_ERROR(co_await trail->write(context, std::move(record)));
  }
  json::Object answer = answer_of(access);
  if (auto* delegation = call->catalog()->delegation) {
    CO_ASSIGN_OR_RETURN(auto keys, co_await delegation->for_direct_reader(
                                       context, call->catalog(), call->principal, access.folders));
    if (keys) answer["s3"] = keys_json(*keys);
  }
  auto response = json_response(200, json::Value(std::move(answer)));
  response.headers.add("Cache-Control", "no-store");
  co_return response;
}

}  // namespace lake::http
