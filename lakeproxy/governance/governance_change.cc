#include "lakeproxy/governance/governance_change.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/not_there.h"
#include "lakeproxy/governance/governance_store.h"

namespace lake::governance {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::pg::array_param;
using base::pg::param;
using base::pg::Query;
using ducklake::SchemaSql;

// $1 schema, $2 object, $3 column, $4 and $5 tag, $6 kind of policy, $7 policy, $8 role or
// principal, $9 what is asked of uses, $10 how many arguments a policy has.
constexpr auto kFind = R"sql(
WITH s AS MATERIALIZED (
  SELECT CASE WHEN $1::text = '' THEN NULL ELSE @lakeproxy_find_schema($1::text) END AS id
), t AS MATERIALIZED (
  SELECT t.table_id AS id FROM @ducklake_table t, s
   WHERE t.schema_id = s.id AND t.table_name = $2::text AND t.end_snapshot IS NULL
), tag AS MATERIALIZED (
  SELECT g.allowed_values FROM @lakeproxy_tag g WHERE g.namespace = $4::text AND g.name = $5::text
)
SELECT (SELECT s.id FROM s), (SELECT t.id FROM t),
       (SELECT v.view_id FROM @ducklake_view v, s
         WHERE v.schema_id = s.id AND v.view_name = $2::text AND v.end_snapshot IS NULL),
       (SELECT c.column_id FROM @ducklake_column c, t
         WHERE c.table_id = t.id AND c.parent_column IS NULL AND c.column_name = $3::text AND c.end_snapshot IS NULL),
       (SELECT c.column_id FROM @ducklake_column c, t
         WHERE c.table_id = t.id AND c.parent_column IS NULL AND c.column_name = $3::text AND c.end_snapshot IS NOT NULL
         ORDER BY c.end_snapshot DESC LIMIT 1),
       EXISTS (SELECT 1 FROM tag), (SELECT to_jsonb(tag.allowed_values) FROM tag),
       CASE $6::text WHEN 'masking' THEN (SELECT p.compiled FROM @lakeproxy_masking_policy p WHERE p.name = $7::text)
                     WHEN 'row_access' THEN (SELECT p.compiled FROM @lakeproxy_row_access_policy p WHERE p.name = $7::text) END,
       (SELECT jsonb_agg(jsonb_build_array(c.column_name, c.column_id) ORDER BY c.column_order) FROM @ducklake_column c, t
         WHERE c.table_id = t.id AND c.parent_column IS NULL AND c.end_snapshot IS NULL),
       CASE $9::text
         WHEN 'tag' THEN coalesce(
           (SELECT 'it is assigned' FROM @lakeproxy_object_tag o
             WHERE (o.tag_namespace, o.tag_name) = ($4::text, $5::text) AND @lakeproxy_is_there(o.object_kind, o.object_id) LIMIT 1),
           (SELECT format('the policy %s is attached to it', a.policy_name) FROM @lakeproxy_policy_attachment a
             WHERE (a.tag_namespace, a.tag_name) = ($4::text, $5::text) LIMIT 1))
         WHEN 'policy' THEN (SELECT 'it is attached' FROM @lakeproxy_policy_attachment a
             WHERE (a.policy_kind, a.policy_name) = ($6::text, $7::text)
               AND (a.table_id IS NULL OR @lakeproxy_is_there('table', a.table_id)) LIMIT 1)
         WHEN 'arguments' THEN (SELECT 'it is attached to a table with another number of columns' FROM @lakeproxy_policy_attachment a
             WHERE (a.policy_kind, a.policy_name) = ($6::text, $7::text) AND cardinality(a.column_ids) <> $10::bigint
               AND @lakeproxy_is_there('table', a.table_id) LIMIT 1)
         WHEN 'role' THEN coalesce(
           (SELECT format('it is granted to %s', g.principal) FROM @lakeproxy_role_grant g WHERE g.role = $8::text LIMIT 1),
           (SELECT 'an object is granted to it' FROM @lakeproxy_object_grant g WHERE g.role = $8::text LIMIT 1),
           (SELECT format('the masking policy %s names it', p.name) FROM @lakeproxy_masking_policy p
             WHERE $8::text = ANY (p.unmasked_roles) LIMIT 1),
           (SELECT format('the row-access policy %s names it', p.name) FROM @lakeproxy_row_access_policy p
             WHERE $8::text = ANY (p.unmasked_roles) LIMIT 1)) END)sql";

base::Error none(std::string_view what, std::string_view name) {
  return fail(ErrorKind::kNotFound, fmt::format("{} does not exist: {}", what, name))
      .with_reason(kNoSuchObject);
}

base::Error in_use(std::string_view what, const std::string& why) {
  return fail(ErrorKind::kConflict, fmt::format("{}: {}", what, why));
}

base::pg::Param texts_param(const std::vector<std::string>& texts) {
  return array_param(std::vector<std::optional<std::string>>(texts.begin(), texts.end()));
}

// What is asked for by name.
struct Asked {
  const ObjectName* object = nullptr;
  TagName tag;
  std::string policy_kind, policy, role, uses;
  std::int64_t arguments = 0;
};

struct AskedBy {
  ChangeKind kind;
  const std::optional<CompiledBody>& compiled;
  bool removes = kind == ChangeKind::kRemove;

  Asked operator()(const Tag& tag) const { return {.tag = tag.tag, .uses = removes ? "tag" : ""}; }
  Asked operator()(const ObjectTag& tag) const { return {.object = &tag.object, .tag = tag.tag}; }
  Asked operator()(const Policy& policy) const {
    Asked asked{.policy_kind = std::string(to_string(policy.kind)), .policy = policy.name};
    asked.uses = removes ? "policy" : "arguments";
    if (compiled) asked.arguments = static_cast<std::int64_t>(compiled->arguments().size());
    return asked;
  }
  Asked operator()(const PolicyAttachment& attachment) const {
    const bool is_tag = attachment.target_kind == TargetKind::kTag;
    return {.object = is_tag ? nullptr : &attachment.object,
            .tag = attachment.tag,
            .policy_kind = std::string(to_string(attachment.policy_kind)),
            .policy = attachment.policy};
  }
  Asked operator()(const Role& role) const {
    return {.role = role.name, .uses = removes ? "role" : ""};
  }
  Asked operator()(const RoleGrant& grant) const { return {.role = grant.role}; }
  Asked operator()(const ObjectGrant& grant) const { return {.object = &grant.object}; }
};

// The id of an object that is there. A column that is lost can still be taken out of governance.
Result<std::int64_t> id_of(ObjectKind kind, const ObjectName& name, const Found& found) {
  if (!found.schema) return ducklake::no_such_namespace(name.schema);
  switch (kind) {
    case ObjectKind::kSchema: return *found.schema;
    case ObjectKind::kView:
      if (!found.view) return ducklake::no_such_view(name.display());
      return *found.view;
    case ObjectKind::kTable:
    case ObjectKind::kColumn:
      if (!found.table)
        return ducklake::no_such_table(ObjectName{name.schema, name.object, ""}.display());
      return *found.table;
  }
  return fail(ErrorKind::kInternal, "no such kind");
}

Result<std::int64_t> column_of(const ObjectName& name, const Found& found, ChangeKind kind) {
  if (found.column) return *found.column;
  if (kind == ChangeKind::kRemove && found.lost_column) return *found.lost_column;
  return none("Column", name.display());
}

base::Status check_value(const ObjectTag& tag, const Found& found) {
  if (!found.allowed_values) return {};
  const std::vector<std::string>& allowed = *found.allowed_values;
  if (tag.value && std::ranges::find(allowed, *tag.value) != allowed.end()) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("value: the tag {} does not allow it", tag.tag.display()));
}

// The columns that are the arguments of a row-access policy: those named, or of the arguments'
// names.
Result<std::vector<std::int64_t>> argument_columns(const PolicyAttachment& attachment,
                                                   const Found& found) {
  const std::vector<Argument>& arguments = found.policy->arguments();
  std::vector<std::string> names;
  if (attachment.columns) {
    names = *attachment.columns;
  } else {
    for (const Argument& argument : arguments) names.push_back(argument.name);
  }
  if (names.size() != arguments.size()) {
    return fail(ErrorKind::kInvalid,
                fmt::format("columns: the policy has {} arguments", arguments.size()));
  }
  std::vector<std::int64_t> ids;
  for (const std::string& name : names) {
    auto column =
        std::ranges::find(found.columns, name, &std::pair<std::string, std::int64_t>::first);
    if (column == found.columns.end()) {
      return fail(ErrorKind::kInvalid, fmt::format("columns: the table has no column {}", name));
    }
    ids.push_back(column->second);
  }
  return ids;
}

using Queries = std::vector<Query>;

struct WritesOf {
  const SchemaSql& sql;
  ChangeKind kind;
  const Found& found;
  const std::optional<CompiledBody>& compiled;

  [[nodiscard]] bool removes() const { return kind == ChangeKind::kRemove; }

  Result<Queries> operator()(const Tag& tag) const;
  Result<Queries> operator()(const ObjectTag& tag) const;
  Result<Queries> operator()(const Policy& policy) const;
  Result<Queries> operator()(const PolicyAttachment& attachment) const;
  Result<Queries> operator()(const Role& role) const;
  Result<Queries> operator()(const RoleGrant& grant) const;
  Result<Queries> operator()(const ObjectGrant& grant) const;
};

Result<Queries> WritesOf::operator()(const Tag& tag) const {
  const auto name = param(tag.tag.name);
  const auto name_space = param(tag.tag.name_space);
  if (!removes()) {
    return Queries{
        {sql("INSERT INTO @lakeproxy_tag (namespace, name, allowed_values) VALUES ($1, $2, $3) "
             "ON CONFLICT (namespace, name) DO UPDATE SET allowed_values = "
             "EXCLUDED.allowed_values"),
         {name_space, name, tag.allowed_values ? texts_param(*tag.allowed_values) : std::nullopt}}};
  }
  if (!found.has_tag) return none("Tag", tag.tag.display());
  if (!found.used_by.empty()) return in_use("The tag is still in use", found.used_by);
  // Those of tables that were dropped go with it.
  return Queries{
      {sql("DELETE FROM @lakeproxy_object_tag WHERE tag_namespace = $1 AND tag_name = $2"),
       {name_space, name}},
      {sql("DELETE FROM @lakeproxy_tag WHERE namespace = $1 AND name = $2"), {name_space, name}}};
}

Result<Queries> WritesOf::operator()(const ObjectTag& tag) const {
  ASSIGN_OR_RETURN(const std::int64_t object, id_of(tag.kind, tag.object, found));
  std::int64_t column = 0;
  if (tag.kind == ObjectKind::kColumn) {
    ASSIGN_OR_RETURN(column, column_of(tag.object, found, kind));
  }
  if (!found.has_tag) return none("Tag", tag.tag.display());
  std::vector<base::pg::Param> key{param(tag.tag.name_space), param(tag.tag.name),
                                   param(to_string(tag.kind)), param(object), param(column)};
  if (removes()) {
    return Queries{
        {sql("DELETE FROM @lakeproxy_object_tag WHERE tag_namespace = $1 AND tag_name = $2 "
             "AND object_kind = $3 AND object_id = $4 AND column_id = $5"),
         std::move(key)}};
  }
  RETURN_IF_ERROR(check_value(tag, found));
  key.push_back(tag.value);
  return Queries{
      {sql("INSERT INTO @lakeproxy_object_tag (tag_namespace, tag_name, object_kind, object_id, "
           "column_id, value) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (object_id, "
           "object_kind, column_id, tag_namespace, tag_name) DO UPDATE SET value = EXCLUDED.value"),
       std::move(key)}};
}

Result<Queries> WritesOf::operator()(const Policy& policy) const {
  const bool masks = policy.kind == PolicyKind::kMasking;
  if (removes()) {
    if (!found.policy) return none(masks ? "Masking policy" : "Row-access policy", policy.name);
    if (!found.used_by.empty()) return in_use("The policy is still in use", found.used_by);
    return Queries{{sql("DELETE FROM @lakeproxy_policy_attachment WHERE policy_kind = $1 AND "
                        "policy_name = $2"),
                    {param(to_string(policy.kind)), param(policy.name)}},
                   {sql(masks ? "DELETE FROM @lakeproxy_masking_policy WHERE name = $1"
                              : "DELETE FROM @lakeproxy_row_access_policy WHERE name = $1"),
                    {param(policy.name)}}};
  }
  if (!found.used_by.empty()) return in_use("The policy cannot be replaced", found.used_by);
  std::vector<base::pg::Param> row{param(policy.name), param(policy.signature), param(policy.body),
                                   param(base::json::write(compiled->to_json())),
                                   texts_param(policy.unmasked_roles)};
  if (!masks) {
    return Queries{{sql("INSERT INTO @lakeproxy_row_access_policy (name, signature, body, "
                        "compiled, unmasked_roles) "
                        "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO UPDATE SET signature = "
                        "EXCLUDED.signature, "
                        "body = EXCLUDED.body, compiled = EXCLUDED.compiled, unmasked_roles = "
                        "EXCLUDED.unmasked_roles"),
                    std::move(row)}};
  }
  row.push_back(param(policy.file_layer_masking));
  return Queries{
      {sql("INSERT INTO @lakeproxy_masking_policy (name, signature, body, compiled, "
           "unmasked_roles, "
           "file_layer_masking) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO UPDATE SET "
           "signature = EXCLUDED.signature, body = EXCLUDED.body, compiled = EXCLUDED.compiled, "
           "unmasked_roles = EXCLUDED.unmasked_roles, file_layer_masking = "
           "EXCLUDED.file_layer_masking"),
       std::move(row)}};
}

Result<Queries> WritesOf::operator()(const PolicyAttachment& attachment) const {
  std::vector<base::pg::Param> key{param(to_string(attachment.policy_kind)),
                                   param(attachment.policy),
                                   param(to_string(attachment.target_kind)),
                                   std::nullopt,
                                   std::nullopt,
                                   std::nullopt,
                                   std::nullopt};
  base::pg::Param column_ids;
  if (attachment.target_kind == TargetKind::kTag) {
    if (!found.has_tag) return none("Tag", attachment.tag.display());
    key[3] = param(attachment.tag.name_space);
    key[4] = param(attachment.tag.name);
  } else {
    ASSIGN_OR_RETURN(const std::int64_t table, id_of(ObjectKind::kTable, attachment.object, found));
    key[5] = param(table);
  }
  if (attachment.target_kind == TargetKind::kColumn) {
    ASSIGN_OR_RETURN(const std::int64_t column, column_of(attachment.object, found, kind));
    key[6] = param(column);
  }
  if (!found.policy) {
    return none(
        attachment.policy_kind == PolicyKind::kMasking ? "Masking policy" : "Row-access policy",
        attachment.policy);
  }
  if (removes()) {
    return Queries{
        {sql("DELETE FROM @lakeproxy_policy_attachment WHERE policy_kind = $1 AND policy_name = $2 "
             "AND "
             "target_kind = $3 AND tag_namespace IS NOT DISTINCT FROM $4 AND tag_name IS NOT "
             "DISTINCT FROM $5 "
             "AND table_id IS NOT DISTINCT FROM $6 AND column_id IS NOT DISTINCT FROM $7"),
         std::move(key)}};
  }
  if (attachment.target_kind == TargetKind::kTable) {
    ASSIGN_OR_RETURN(const auto ids, argument_columns(attachment, found));
    column_ids = array_param(ids);
  }
  key.push_back(std::move(column_ids));
  return Queries{
      {sql("INSERT INTO @lakeproxy_policy_attachment (policy_kind, policy_name, target_kind, "
           "tag_namespace, "
           "tag_name, table_id, column_id, column_ids) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
           "ON CONFLICT (policy_kind, policy_name, coalesce(tag_namespace, ''), coalesce(tag_name, "
           "''), "
           "coalesce(table_id, -1), coalesce(column_id, 0)) DO UPDATE SET column_ids = "
           "EXCLUDED.column_ids"),
       std::move(key)}};
}

Result<Queries> WritesOf::operator()(const Role& role) const {
  if (!removes()) {
    return Queries{
        {sql("INSERT INTO @lakeproxy_role (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET "
             "name = EXCLUDED.name"),
         {param(role.name)}}};
  }
  if (!found.used_by.empty()) return in_use("The role is still in use", found.used_by);
  return Queries{{sql("DELETE FROM @lakeproxy_role WHERE name = $1"), {param(role.name)}}};
}

Result<Queries> WritesOf::operator()(const RoleGrant& grant) const {
  return Queries{
      {sql(removes() ? "DELETE FROM @lakeproxy_role_grant WHERE role = $1 AND principal = $2"
                     : "INSERT INTO @lakeproxy_role_grant (role, principal) VALUES ($1, $2) "
                       "ON CONFLICT (principal, role) DO UPDATE SET role = EXCLUDED.role"),
       {param(grant.role), param(grant.principal)}}};
}

Result<Queries> WritesOf::operator()(const ObjectGrant& grant) const {
  ASSIGN_OR_RETURN(const std::int64_t object, id_of(grant.kind, grant.object, found));
  return Queries{
      {sql(removes()
               ? "DELETE FROM @lakeproxy_object_grant WHERE object_kind = $1 AND object_id = $2 "
                 "AND privilege = $3 AND role = $4"
               : "INSERT INTO @lakeproxy_object_grant (object_kind, object_id, privilege, role) "
                 "VALUES ($1, $2, $3, $4) ON CONFLICT (role, privilege, object_kind, object_id) "
                 "DO UPDATE SET role = EXCLUDED.role"),
       {param(to_string(grant.kind)), param(object), param(grant.privilege), param(grant.role)}}};
}

// How a change is called: in the audit trail and the answer, when made and when taken back.
struct Words {
  std::string_view put, remove, was_put, was_removed;
};

struct WordsOf {
  Words operator()(const Tag&) const { return {"create_tag", "delete_tag", "created", "deleted"}; }
  Words operator()(const ObjectTag&) const {
    return {"assign_object_tag", "remove_object_tag", "assigned", "removed"};
  }
  Words operator()(const Policy& policy) const {
    if (policy.kind == PolicyKind::kMasking) {
      return {"create_masking_policy", "delete_masking_policy", "created", "deleted"};
    }
    return {"create_row_access_policy", "delete_row_access_policy", "created", "deleted"};
  }
  Words operator()(const PolicyAttachment&) const {
    return {"attach_policy", "detach_policy", "attached", "detached"};
  }
  Words operator()(const Role&) const {
    return {"create_role", "delete_role", "created", "deleted"};
  }
  Words operator()(const RoleGrant&) const {
    return {"grant_role", "revoke_role", "granted", "revoked"};
  }
  Words operator()(const ObjectGrant&) const {
    return {"grant_object", "revoke_object_grant", "granted", "revoked"};
  }
};

struct AuditedName {
  std::string operator()(const Tag& tag) const { return tag.tag.display(); }
  std::string operator()(const ObjectTag& tag) const { return tag.object.display(); }
  std::string operator()(const Policy& policy) const { return policy.name; }
  std::string operator()(const PolicyAttachment& attachment) const { return attachment.policy; }
  std::string operator()(const Role& role) const { return role.name; }
  std::string operator()(const RoleGrant& grant) const { return grant.role; }
  std::string operator()(const ObjectGrant& grant) const { return grant.object.display(); }
};

Result<std::vector<std::string>> texts_of(const base::json::Value& value) {
  std::vector<std::string> texts;
  for (const auto& one : value.as_array()) texts.emplace_back(one.as_string());
  return texts;
}

}  // namespace

Query find(const SchemaSql& sql, const GovernanceObject& object, ChangeKind kind,
           const std::optional<CompiledBody>& compiled) {
  const Asked asked = std::visit(AskedBy{.kind = kind, .compiled = compiled}, object);
  const bool named = asked.object != nullptr;
  return {sql(kFind),
          {param(named ? ducklake::flat_schema_name(asked.object->schema) : ""),
           param(named ? asked.object->object : ""), param(named ? asked.object->column : ""),
           param(asked.tag.name_space), param(asked.tag.name), param(asked.policy_kind),
           param(asked.policy), param(asked.role), param(asked.uses), param(asked.arguments)}};
}

Result<Found> read_found(const base::pg::Rows& rows) {
  Found found{.schema = rows.opt_int64(0, 0),
              .table = rows.opt_int64(0, 1),
              .view = rows.opt_int64(0, 2),
              .column = rows.opt_int64(0, 3),
              .lost_column = rows.opt_int64(0, 4),
              .has_tag = rows.boolean(0, 5)};
  if (!rows.is_null(0, 6)) {
    ASSIGN_OR_RETURN(const auto values, base::json::parse(rows.text(0, 6)));
    ASSIGN_OR_RETURN(found.allowed_values, texts_of(values));
  }
  if (!rows.is_null(0, 7)) {
    ASSIGN_OR_RETURN(const auto compiled, base::json::parse(rows.text(0, 7)));
    ASSIGN_OR_RETURN(found.policy, CompiledBody::from_json(compiled));
  }
  if (!rows.is_null(0, 8)) {
    ASSIGN_OR_RETURN(const auto columns, base::json::parse(rows.text(0, 8)));
    for (const auto& one : columns.as_array()) {
      found.columns.emplace_back(one.as_array()[0].as_string(), one.as_array()[1].as_int64());
    }
  }
  found.used_by = rows.text(0, 9);
  return found;
}

Result<Queries> writes(const SchemaSql& sql, const GovernanceObject& object, ChangeKind kind,
                       const Found& found, const std::optional<CompiledBody>& compiled) {
  return std::visit(WritesOf{sql, kind, found, compiled}, object);
}

std::string_view operation_of(const GovernanceObject& object, ChangeKind kind) {
  const Words words = std::visit(WordsOf{}, object);
  return kind == ChangeKind::kPut ? words.put : words.remove;
}

std::string_view status_of(const GovernanceObject& object, ChangeKind kind) {
  const Words words = std::visit(WordsOf{}, object);
  return kind == ChangeKind::kPut ? words.was_put : words.was_removed;
}

std::string audited_name(const GovernanceObject& object) {
  return std::visit(AuditedName{}, object);
}

}  // namespace lake::governance
