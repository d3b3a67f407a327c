#include "lakeproxy/governance/governance_store.h"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/governance/governance_change.h"

namespace lake::governance {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Task;
using base::json::Object;
using base::pg::param;
using base::pg::Query;

constexpr std::size_t kMostEvents = 500;  // Moved in one transaction.

// The turn of a change.
constexpr auto kLock = "SELECT version FROM @lakeproxy_policy_version FOR UPDATE";

// Names of an object in the words of a request. A schema's levels as schema_text() writes them.
constexpr auto kNames = R"sql(
WITH schemas AS MATERIALIZED (
  SELECT s.schema_id, replace(replace(replace(s.flat_name, '%', '%25'), '.', '%2E'), E'\x1f', '.') AS name FROM @lakeproxy_schemas() s
), objects AS MATERIALIZED (
  SELECT 'schema' AS kind, s.schema_id AS id, s.name AS schema, NULL::text AS object FROM schemas s
   UNION ALL
  SELECT k.kind, t.table_id, s.name, t.table_name FROM @ducklake_table t JOIN schemas s USING (schema_id), (VALUES ('table'), ('column')) AS k(kind)
   WHERE t.end_snapshot IS NULL
   UNION ALL
  SELECT 'view', v.view_id, s.name, v.view_name FROM @ducklake_view v JOIN schemas s USING (schema_id) WHERE v.end_snapshot IS NULL
)
)sql";

// The name that a column has, or had last.
constexpr auto kColumnName = R"sql(
(SELECT c.column_name FROM @ducklake_column c WHERE c.table_id = {0} AND c.column_id = {1}
  ORDER BY c.end_snapshot DESC NULLS FIRST LIMIT 1))sql";

std::string list_of(Collection collection) {
  switch (collection) {
    case Collection::kTags:
      return "SELECT jsonb_build_object('namespace', g.namespace, 'name', g.name, "
             "'allowed-values', g.allowed_values) "
             "FROM @lakeproxy_tag g ORDER BY g.namespace, g.name";
    case Collection::kObjectTags:
      return std::string(kNames) +
             "SELECT jsonb_build_object('object-kind', o.object_kind, 'schema', n.schema, "
             "'object', n.object, "
             "'column', CASE WHEN o.column_id <> 0 THEN " +
             fmt::format(kColumnName, "o.object_id", "o.column_id") +
             " END, 'tag-namespace', o.tag_namespace, 'tag-name', o.tag_name, 'value', o.value) "
             "FROM @lakeproxy_object_tag o JOIN objects n ON n.kind = o.object_kind AND n.id = "
             "o.object_id "
             "ORDER BY n.schema, n.object, o.column_id, o.tag_namespace, o.tag_name";
    case Collection::kMaskingPolicies:
      return "SELECT jsonb_build_object('name', p.name, 'signature', p.signature, 'body', p.body, "
             "'unmasked-roles', "
             "p.unmasked_roles, 'file-layer-masking', p.file_layer_masking) FROM "
             "@lakeproxy_masking_policy p ORDER BY p.name";
    case Collection::kRowAccessPolicies:
      return "SELECT jsonb_build_object('name', p.name, 'signature', p.signature, 'body', p.body, "
             "'unmasked-roles', "
             "p.unmasked_roles) FROM @lakeproxy_row_access_policy p ORDER BY p.name";
    case Collection::kPolicyAttachments:
      return std::string(kNames) +
             "SELECT jsonb_build_object('policy-kind', a.policy_kind, 'policy-name', "
             "a.policy_name, 'target-kind', "
             "a.target_kind, 'tag-namespace', a.tag_namespace, 'tag-name', a.tag_name, 'schema', "
             "n.schema, 'object', n.object, "
             "'column', CASE WHEN a.column_id IS NOT NULL THEN " +
             fmt::format(kColumnName, "a.table_id", "a.column_id") +
             " END, 'columns', (SELECT jsonb_agg(" +
             fmt::format(kColumnName, "a.table_id", "i.id") +
             " ORDER BY i.place) FROM unnest(a.column_ids) WITH ORDINALITY AS i(id, place))) "
             "FROM @lakeproxy_policy_attachment a LEFT JOIN objects n ON n.kind = 'table' AND n.id "
             "= a.table_id "
             "WHERE a.table_id IS NULL OR n.id IS NOT NULL "
             "ORDER BY a.policy_kind, a.policy_name, a.tag_namespace, a.tag_name, n.schema, "
             "n.object, a.column_id";
    case Collection::kRoles:
      return "SELECT jsonb_build_object('name', r.name) FROM @lakeproxy_role r ORDER BY r.name";
    case Collection::kRoleGrants:
      return "SELECT jsonb_build_object('role', g.role, 'principal', g.principal) FROM "
             "@lakeproxy_role_grant g "
             "ORDER BY g.role, g.principal";
    case Collection::kObjectGrants:
      return std::string(kNames) +
             "SELECT jsonb_build_object('object-kind', g.object_kind, 'schema', n.schema, "
             "'object', n.object, 'privilege', "
             "g.privilege, 'role', g.role) FROM @lakeproxy_object_grant g JOIN objects n ON n.kind "
             "= g.object_kind AND "
             "n.id = g.object_id ORDER BY n.schema, n.object, g.privilege, g.role";
  }
  return "";
}

// What an entry of the trail tells beside the object: all that a policy says, since it decides who
// sees what.
Object detail_of(const GovernanceObject& object, ChangeKind kind) {
  Object detail = name_of(object);
  if (kind == ChangeKind::kRemove) return detail;
  if (const auto* policy = std::get_if<Policy>(&object)) {
    detail["signature"] = policy->signature;
    detail["body"] = policy->body;
    detail["unmasked-roles"] =
        base::json::Array(policy->unmasked_roles.begin(), policy->unmasked_roles.end());
    if (policy->kind == PolicyKind::kMasking)
      detail["file-layer-masking"] = policy->file_layer_masking;
  }
  if (const auto* tag = std::get_if<ObjectTag>(&object); tag != nullptr && tag->value) {
    detail["value"] = *tag->value;
  }
  return detail;
}

Result<std::optional<CompiledBody>> compile(const GovernanceObject& object) {
  const auto* policy = std::get_if<Policy>(&object);
  if (policy == nullptr) return std::optional<CompiledBody>();
  auto compiled = policy->kind == PolicyKind::kMasking
                      ? compile_mask(policy->signature, policy->body)
                      : compile_filter(policy->signature, policy->body);
  if (!compiled) return std::move(compiled).error();
  return std::optional(std::move(*compiled));
}

// Where two masks meet, and which.
constexpr auto kMeetings =
    "SELECT m.place, array_to_string(m.policies, ', '), m.of_object, m.of_column FROM "
    "@lakeproxy_second_mask() m";

// The first that was not there before. One that was is a table's that came back from a drop: it
// refuses that table's reads, and no other change.
base::Status check_meetings(const base::pg::Rows& before, const base::pg::Rows& now) {
  auto key = [](const base::pg::Rows& rows, std::size_t row) {
    return std::tuple(rows.int64(row, 2), rows.int64(row, 3), std::string(rows.text(row, 1)));
  };
  std::set<std::tuple<std::int64_t, std::int64_t, std::string>> known;
  for (std::size_t i = 0; i < before.size(); ++i) known.insert(key(before, i));
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (known.contains(key(now, i))) continue;
    return fail(ErrorKind::kConflict,
                fmt::format("A second mask would reach {}: {}", now.text(i, 0), now.text(i, 1)));
  }
  return {};
}

}  // namespace

Task<Result<Changed>> GovernanceStore::change(base::RequestContext context, GovernanceObject object,
                                              auth::Principal principal, ChangeKind kind) {
  const bool removes = kind == ChangeKind::kRemove;
  std::optional<CompiledBody> compiled;
  if (!removes) {
    CO_ASSIGN_OR_RETURN(compiled, co_await trials_->run([object] { return compile(object); }));
  }
  std::vector<Query> first{{sql_(kLock), {}}};
  first.push_back(find(sql_, object, kind, compiled));
  first.push_back({sql_(kMeetings), {}});
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, std::move(first)));
  CO_ASSIGN_OR_RETURN(const Found found, read_found(*begun.rows[1]));
  CO_ASSIGN_OR_RETURN(auto queries, writes(sql_, object, kind, found, compiled));
  const std::size_t last = queries.size() - 1;
  queries.push_back({sql_(kMeetings), {}});
  CO_ASSIGN_OR_RETURN(auto rows, co_await begun.transaction->run(std::move(queries)));
  if (rows[last]->affected() == 0) {
    co_return fail(ErrorKind::kNotFound, "Not there: " + audited_name(object))
        .with_reason(kNoSuchObject);
  }
  if (!removes) CO_RETURN_IF_ERROR(check_meetings(*begun.rows[2], *rows.back()));
  audit::AuditRecord record = audit::record_of(principal, std::string(operation_of(object, kind)),
                                               audited_name(object), "allowed");
  record.detail = base::json::write(detail_of(object, kind));
  std::vector<audit::AuditLine> lines;
  lines.push_back(audit::line_of(std::move(record), clock_->now(), context.id_text()));
  CO_ASSIGN_OR_RETURN(auto audited,
                      co_await audit_.lines_within(begun.transaction.get(), std::move(lines)));
  CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit(std::move(audited)));
  co_return Changed{std::string(status_of(object, kind)), name_of(object)};
}

Task<Result<Changed>> GovernanceStore::put(base::RequestContext context, GovernanceObject object,
                                           auth::Principal principal) {
  return change(context, std::move(object), std::move(principal), ChangeKind::kPut);
}

Task<Result<Changed>> GovernanceStore::remove(base::RequestContext context, GovernanceObject object,
                                              auth::Principal principal) {
  return change(context, std::move(object), std::move(principal), ChangeKind::kRemove);
}

Task<Result<base::json::Array>> GovernanceStore::list(base::RequestContext context,
                                                      Collection collection) const {
  // The statement begins so that it counts as one that changes nothing.
  const std::string text =
      "SELECT jsonb_strip_nulls(o.entry) FROM (" + list_of(collection) + ") AS o(entry)";
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, {sql_(text), {}}));
  base::json::Array listed;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    CO_ASSIGN_OR_RETURN(auto entry, base::json::parse(rows->text(i, 0)));
    listed.push_back(std::move(entry));
  }
  co_return listed;
}

Task<base::Status> GovernanceStore::audit_events(base::RequestContext context) const {
  CO_ASSIGN_OR_RETURN(
      auto waiting, co_await pool_->query(
                        context, {sql_("SELECT 1 FROM @lakeproxy_governance_event LIMIT 1"), {}}));
  if (waiting->empty()) co_return base::Status{};
  std::vector<Query> take{
      {sql_("WITH taken AS (DELETE FROM @lakeproxy_governance_event WHERE id IN (SELECT e.id FROM "
            "@lakeproxy_governance_event e ORDER BY e.id LIMIT $1 FOR UPDATE SKIP LOCKED) "
            "RETURNING *) "
            "SELECT (extract(epoch FROM t.ts) * 1000000)::bigint, t.operation, t.object, t.detail, "
            "'lake:' || coalesce(t.detail->>'login', '') "
            "FROM taken t ORDER BY t.id"),
       {param(static_cast<std::int64_t>(kMostEvents))}}};
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, std::move(take)));
  const base::pg::Rows& rows = *begun.rows.front();
  std::vector<audit::AuditLine> lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    audit::AuditRecord record{.operation = std::string(rows.text(i, 1)),
                              .object = std::string(rows.text(i, 2)),
                              .decision = "allowed",
                              .detail = std::string(rows.text(i, 3)),
                              .principal = std::string(rows.text(i, 4))};
    const base::WallTime time{std::chrono::microseconds(rows.int64(i, 0))};
    lines.push_back(audit::line_of(std::move(record), time, context.id_text()));
  }
  if (lines.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto audited,
                      co_await audit_.lines_within(begun.transaction.get(), std::move(lines)));
  CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit(std::move(audited)));
  co_return base::Status{};
}

}  // namespace lake::governance
