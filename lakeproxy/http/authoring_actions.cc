// /v1/{prefix}/governance: what an administrator writes, lists and takes back, and what follows
// from it for one principal and one table.

#include <fmt/format.h>

#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/governance/governance_store.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

namespace json = base::json;
using governance::Collection;
using governance::GovernanceObject;

constexpr std::size_t kMostRoles = 256;

// A name of a path is looked up as it is: what no object can be called is not there.
GovernanceObject named(Collection collection, const Call& call) {
  switch (collection) {
    case Collection::kTags:
      return governance::Tag{.tag = {call.parameter("tag-namespace"), call.parameter("tag-name")},
                             .allowed_values = {}};
    case Collection::kMaskingPolicies:
      return governance::Policy{.kind = governance::PolicyKind::kMasking,
                                .name = call.parameter("policy")};
    case Collection::kRowAccessPolicies:
      return governance::Policy{.kind = governance::PolicyKind::kRowAccess,
                                .name = call.parameter("policy")};
    default: return governance::Role{call.parameter("role")};
  }
}

base::http::Response done(const governance::Changed& changed) {
  json::Object body{{"status", changed.status}};
  for (const auto& [member, value] : changed.object) body[member] = value;
  return json_response(200, json::Value(std::move(body)));
}

base::Result<std::string> query_of(const Call& call, std::string_view name) {
  auto value = call.request->query(name);
  if (!value || value->empty()) {
    return base::fail(base::ErrorKind::kInvalid, fmt::format("{}: must be given", name));
  }
  return std::move(*value);
}

base::Result<std::vector<std::string>> roles_of(const Call& call) {
  std::vector<std::string> roles;
  const std::string text = call.request->query("roles").value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view role = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), role.size() + 1));
    if (!governance::is_name(role) || roles.size() == kMostRoles) {
      return base::fail(base::ErrorKind::kInvalid,
                        "roles: must be at most 256 names, parted by ','");
    }
    roles.emplace_back(role);
  }
  return roles;
}

json::Array texts(const std::vector<std::string>& all) {
  return json::Array(all.begin(), all.end());
}

// A read in the place of somebody: who asked is the principal of the record.
audit::AuditRecord record_of(const Call& call, const operation::PreviewRows& asked,
                             const operation::Preview& preview) {
  const bool refused = preview.kind == policy::ReadKind::kRefused;
  auto record = audit::record_of(call.principal, "preview_rows", policy::display(targets(asked)),
                                 refused                   ? "refused"
                                 : preview.mask == nullptr ? "unmasked"
                                                           : "masked");
  json::Object detail{{"on_behalf_of", asked.of.principal},
                      {"roles", texts(preview.roles)},
                      {"kind", to_string(preview.kind)},
                      {"rows", preview.rows.size()}};
  if (preview.mask != nullptr) {
    record.masked_cols = policy::masked_columns_of(*preview.mask);
    record.applied_policies = policy::policies_of(*preview.mask);
    detail["signature"] = preview.mask->signature;
  }
  record.detail = json::write(detail);
  return record;
}

json::Object told(const operation::PreviewRows& asked, const operation::Preview& preview) {
  json::Array columns;
  for (const operation::PreviewColumn& column : preview.columns) {
    columns.push_back(json::Object{{"name", column.name},
                                   {"type", column.type},
                                   {"masked", column.masked},
                                   {"shown", column.shown}});
  }
  json::Array rows;
  for (const auto& row : preview.rows) {
    json::Array values;
    for (const auto& value : row) values.push_back(value ? json::Value(*value) : json::Value());
    rows.push_back(std::move(values));
  }
  json::Object answer{{"principal", asked.of.principal},   {"roles", texts(preview.roles)},
                      {"table", asked.of.table.display()}, {"kind", to_string(preview.kind)},
                      {"columns", std::move(columns)},     {"more_columns", preview.more_columns},
                      {"rows", std::move(rows)},           {"is_all", preview.is_all}};
  if (preview.kind == policy::ReadKind::kRefused) answer["reason"] = preview.reason;
  if (preview.snapshot_id) answer["snapshot_id"] = preview.snapshot_id->value;
  return answer;
}

}  // namespace

template <Collection collection>
base::Result<PutGovernance> put_governance_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto object, governance::object_from_json(collection, body));
  return PutGovernance{std::move(object)};
}

template <Collection collection>
base::Result<RemoveGovernance> remove_governance_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto object, governance::object_from_json(collection, body));
  return RemoveGovernance{std::move(object)};
}

template <Collection collection>
base::Result<RemoveGovernance> remove_named_of(const Call& call) {
  return RemoveGovernance{named(collection, call)};
}

template <Collection collection>
base::Result<ListGovernance> list_governance_of(const Call&) {
  return ListGovernance{collection};
}

template base::Result<PutGovernance> put_governance_of<Collection::kTags>(const Call&);
template base::Result<PutGovernance> put_governance_of<Collection::kObjectTags>(const Call&);
template base::Result<PutGovernance> put_governance_of<Collection::kMaskingPolicies>(const Call&);
template base::Result<PutGovernance> put_governance_of<Collection::kRowAccessPolicies>(const Call&);
template base::Result<PutGovernance> put_governance_of<Collection::kPolicyAttachments>(const Call&);
template base::Result<PutGovernance> put_governance_of<Collection::kRoles>(const Call&);
template base::Result<PutGovernance> put_governance_of<Collection::kRoleGrants>(const Call&);
template base::Result<PutGovernance> put_governance_of<Collection::kObjectGrants>(const Call&);
template base::Result<RemoveGovernance> remove_governance_of<Collection::kObjectTags>(const Call&);
template base::Result<RemoveGovernance> remove_governance_of<Collection::kPolicyAttachments>(
    const Call&);
template base::Result<RemoveGovernance> remove_governance_of<Collection::kRoleGrants>(const Call&);
template base::Result<RemoveGovernance> remove_governance_of<Collection::kObjectGrants>(
    const Call&);
template base::Result<RemoveGovernance> remove_named_of<Collection::kTags>(const Call&);
template base::Result<RemoveGovernance> remove_named_of<Collection::kMaskingPolicies>(const Call&);
template base::Result<RemoveGovernance> remove_named_of<Collection::kRowAccessPolicies>(
    const Call&);
template base::Result<RemoveGovernance> remove_named_of<Collection::kRoles>(const Call&);
template base::Result<ListGovernance> list_governance_of<Collection::kTags>(const Call&);
template base::Result<ListGovernance> list_governance_of<Collection::kObjectTags>(const Call&);
template base::Result<ListGovernance> list_governance_of<Collection::kMaskingPolicies>(const Call&);
template base::Result<ListGovernance> list_governance_of<Collection::kRowAccessPolicies>(
    const Call&);
template base::Result<ListGovernance> list_governance_of<Collection::kPolicyAttachments>(
    const Call&);
template base::Result<ListGovernance> list_governance_of<Collection::kRoles>(const Call&);
template base::Result<ListGovernance> list_governance_of<Collection::kRoleGrants>(const Call&);
template base::Result<ListGovernance> list_governance_of<Collection::kObjectGrants>(const Call&);

ActionResult put_governance(RequestContext context, Call* call, Authorized<PutGovernance> request) {
  CO_ASSIGN_OR_RETURN(const auto changed, co_await call->catalog()->governance->put(
                                              context, request->object, request.principal()));
  co_return done(changed);
}

ActionResult remove_governance(RequestContext context, Call* call,
                               Authorized<RemoveGovernance> request) {
  CO_ASSIGN_OR_RETURN(const auto changed, co_await call->catalog()->governance->remove(
                                              context, request->object, request.principal()));
  co_return done(changed);
}

ActionResult list_governance(RequestContext context, Call* call,
                             Authorized<ListGovernance> request) {
  CO_ASSIGN_OR_RETURN(auto listed,
                      co_await call->catalog()->governance->list(context, request->collection));
  co_return json_response(
      200, json::Value(json::Object{{to_string(request->collection), std::move(listed)}}));
}

base::Result<operation::EffectivePolicies> effective_policies_of(const Call& call) {
  operation::EffectivePolicies asked;
  ASSIGN_OR_RETURN(const std::string table, query_of(call, "table"));
  auto identifier = governance::table_of(table);
  if (!identifier) {
    return base::fail(base::ErrorKind::kInvalid, "table: " + identifier.error().message());
  }
  asked.table = std::move(*identifier);
  ASSIGN_OR_RETURN(asked.principal, query_of(call, "principal"));
  ASSIGN_OR_RETURN(asked.token_roles, roles_of(call));
  return asked;
}

ActionResult effective_policies(RequestContext context, Call* call,
                                Authorized<operation::EffectivePolicies> request) {
  CO_ASSIGN_OR_RETURN(auto answer,
                      co_await operation::effective_policies(context, call->catalog(), request));
  co_return json_response(200, json::Value(std::move(answer)));
}

base::Result<operation::PreviewRows> preview_rows_of(const Call& call) {
  ASSIGN_OR_RETURN(auto asked, effective_policies_of(call));
  return operation::PreviewRows{std::move(asked)};
}

ActionResult preview_rows(RequestContext context, Call* call,
                          Authorized<operation::PreviewRows> request) {
  CO_ASSIGN_OR_RETURN(const operation::Preview preview,
                      co_await operation::preview_rows(context, call->catalog(), request));
  // Nobody has seen a value of which the trail knows nothing.
  if (auto* trail = call->catalog()->audit) {
    CO_RETURN_IF_ERROR(co_await trail->write(context, record_of(*call, *request, preview)));
  }
  auto response = json_response(200, json::Value(told(*request, preview)));
  response.headers.add("Cache-Control", "no-store");
  co_return response;
}

}  // namespace lake::http
