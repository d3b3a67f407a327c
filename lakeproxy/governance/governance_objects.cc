#include "lakeproxy/governance/governance_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>

#include "base/core/text.h"
#include "base/json/fields.h"

namespace lake::governance {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::json::Fields;
using base::json::Value;

constexpr std::size_t kMostName = 255;
constexpr std::size_t kMostValue = 1024;
constexpr std::size_t kMostEntries = 256;

base::Error broken(std::string_view member, std::string_view rule) {
  return fail(ErrorKind::kInvalid, fmt::format("{}: {}", member, rule));
}

constexpr std::string_view kNameRule = "must be 1 to 255 bytes without control characters";

Result<std::string> name_in(const Fields& fields, std::string_view member) {
  ASSIGN_OR_RETURN(std::string name, fields.string(member));
  if (!is_name(name)) return broken(member, kNameRule);
  return name;
}

Result<std::vector<std::string>> names_in(const Fields& fields, std::string_view member) {
  if (!fields.has(member)) return std::vector<std::string>{};
  ASSIGN_OR_RETURN(auto names, fields.strings(member));
  if (names.size() > kMostEntries) return broken(member, "must have at most 256 entries");
  if (!std::ranges::all_of(names, is_name)) return broken(member, kNameRule);
  return names;
}

// One of these words.
template <class Kind, std::size_t N>
Result<Kind> word_in(const Fields& fields, std::string_view member, const Kind (&kinds)[N]) {
  ASSIGN_OR_RETURN(const std::string word, fields.string(member));
  std::string words;
  for (const Kind kind : kinds) {
    if (to_string(kind) == word) return kind;
    words += fmt::format("{}{}", words.empty() ? "" : ", ", to_string(kind));
  }
  return broken(member, fmt::format("must be one of {}", words));
}

base::Status check_members(const Value& body, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : body.as_object()) {
    if (std::ranges::find(known, std::string_view(name)) == known.end()) {
      return broken(base::shorten(name, 64), "no such member");
    }
  }
  return {};
}

base::Status check_absent(const Fields& fields, std::span<const std::string_view> members,
                          std::string_view what) {
  for (const std::string_view member : members) {
    if (fields.has(member)) return broken(member, fmt::format("{} has none", what));
  }
  return {};
}

Result<TagName> tag_in(const Fields& fields) {
  TagName tag;
  ASSIGN_OR_RETURN(tag.name_space, name_in(fields, "tag-namespace"));
  ASSIGN_OR_RETURN(tag.name, name_in(fields, "tag-name"));
  return tag;
}

Result<model::Namespace> schema_in(const Fields& fields) {
  ASSIGN_OR_RETURN(const std::string text, fields.string("schema"));
  auto schema = schema_of(text);
  if (!schema) return broken("schema", schema.error().message());
  return schema;
}

// The members of an object of that kind; those that it has not must be absent.
Result<ObjectName> object_in(const Fields& fields, ObjectKind kind) {
  ObjectName name;
  ASSIGN_OR_RETURN(name.schema, schema_in(fields));
  constexpr std::string_view kMembers[] = {"object", "column"};
  const std::size_t has = kind == ObjectKind::kSchema ? 0 : kind == ObjectKind::kColumn ? 2 : 1;
  RETURN_IF_ERROR(check_absent(fields, std::span(kMembers).subspan(has), to_string(kind)));
  if (has > 0) {
    ASSIGN_OR_RETURN(name.object, name_in(fields, "object"));
  }
  if (has > 1) {
    ASSIGN_OR_RETURN(name.column, name_in(fields, "column"));
  }
  return name;
}

constexpr ObjectKind kTagged[] = {ObjectKind::kSchema, ObjectKind::kTable, ObjectKind::kView,
                                  ObjectKind::kColumn};
constexpr ObjectKind kGranted[] = {ObjectKind::kSchema, ObjectKind::kTable, ObjectKind::kView};
constexpr PolicyKind kPolicies[] = {PolicyKind::kMasking, PolicyKind::kRowAccess};
constexpr TargetKind kTargets[] = {TargetKind::kTag, TargetKind::kColumn, TargetKind::kTable};

Result<GovernanceObject> tag_of(const Value& body, const Fields& fields) {
  RETURN_IF_ERROR(check_members(body, {"namespace", "name", "allowed-values"}));
  Tag tag;
  ASSIGN_OR_RETURN(tag.tag.name_space, name_in(fields, "namespace"));
  ASSIGN_OR_RETURN(tag.tag.name, name_in(fields, "name"));
  if (!fields.has("allowed-values")) return tag;
  ASSIGN_OR_RETURN(tag.allowed_values, names_in(fields, "allowed-values"));
  return tag;
}

Result<GovernanceObject> object_tag_of(const Value& body, const Fields& fields) {
  RETURN_IF_ERROR(check_members(
      body, {"object-kind", "schema", "object", "column", "tag-namespace", "tag-name", "value"}));
  ObjectTag tag;
  ASSIGN_OR_RETURN(tag.kind, word_in(fields, "object-kind", kTagged));
  ASSIGN_OR_RETURN(tag.object, object_in(fields, tag.kind));
  ASSIGN_OR_RETURN(tag.tag, tag_in(fields));
  ASSIGN_OR_RETURN(tag.value, fields.opt_string("value"));
  if (tag.value && (tag.value->size() > kMostValue || tag.value->contains('\0'))) {
    return broken("value", "must be at most 1024 bytes without zeros");
  }
  return tag;
}

Result<GovernanceObject> policy_of(PolicyKind kind, const Value& body, const Fields& fields) {
  Policy policy{.kind = kind};
  if (kind == PolicyKind::kMasking) {
    RETURN_IF_ERROR(
        check_members(body, {"name", "signature", "body", "unmasked-roles", "file-layer-masking"}));
    ASSIGN_OR_RETURN(auto file_layer, fields.opt_boolean("file-layer-masking"));
    policy.file_layer_masking = file_layer.value_or(false);
  } else {
    RETURN_IF_ERROR(check_members(body, {"name", "signature", "body", "unmasked-roles"}));
  }
  ASSIGN_OR_RETURN(policy.name, name_in(fields, "name"));
  ASSIGN_OR_RETURN(policy.signature, fields.string("signature"));
  ASSIGN_OR_RETURN(policy.body, fields.string("body"));
  ASSIGN_OR_RETURN(policy.unmasked_roles, names_in(fields, "unmasked-roles"));
  return policy;
}

// What the resolver would not follow is no attachment.
base::Status check_target(PolicyKind policy, TargetKind target) {
  if (policy == PolicyKind::kMasking && target == TargetKind::kTable) {
    return broken("target-kind", "a masking policy goes to a tag or a column");
  }
  if (policy == PolicyKind::kRowAccess && target == TargetKind::kColumn) {
    return broken("target-kind", "a row-access policy goes to a tag or a table");
  }
  return {};
}

Result<GovernanceObject> attachment_of(const Value& body, const Fields& fields) {
  RETURN_IF_ERROR(check_members(body, {"policy-kind", "policy-name", "target-kind", "tag-namespace",
                                       "tag-name", "schema", "object", "column", "columns"}));
  PolicyAttachment attachment;
  ASSIGN_OR_RETURN(attachment.policy_kind, word_in(fields, "policy-kind", kPolicies));
  ASSIGN_OR_RETURN(attachment.policy, name_in(fields, "policy-name"));
  ASSIGN_OR_RETURN(attachment.target_kind, word_in(fields, "target-kind", kTargets));
  RETURN_IF_ERROR(check_target(attachment.policy_kind, attachment.target_kind));
  constexpr std::string_view kOfTag[] = {"tag-namespace", "tag-name"};
  constexpr std::string_view kOfObject[] = {"schema", "object", "column", "columns"};
  if (attachment.target_kind == TargetKind::kTag) {
    RETURN_IF_ERROR(check_absent(fields, kOfObject, "an attachment to a tag"));
    ASSIGN_OR_RETURN(attachment.tag, tag_in(fields));
    return attachment;
  }
  RETURN_IF_ERROR(check_absent(fields, kOfTag, "an attachment to an object"));
  const bool is_column = attachment.target_kind == TargetKind::kColumn;
  ASSIGN_OR_RETURN(attachment.object,
                   object_in(fields, is_column ? ObjectKind::kColumn : ObjectKind::kTable));
  if (!fields.has("columns")) return attachment;
  if (is_column) return broken("columns", "an attachment to a column has none");
  ASSIGN_OR_RETURN(attachment.columns, names_in(fields, "columns"));
  return attachment;
}

Result<GovernanceObject> role_of(const Value& body, const Fields& fields) {
  RETURN_IF_ERROR(check_members(body, {"name"}));
  ASSIGN_OR_RETURN(std::string name, name_in(fields, "name"));
  return Role{std::move(name)};
}

Result<GovernanceObject> role_grant_of(const Value& body, const Fields& fields) {
  RETURN_IF_ERROR(check_members(body, {"role", "principal"}));
  RoleGrant grant;
  ASSIGN_OR_RETURN(grant.role, name_in(fields, "role"));
  ASSIGN_OR_RETURN(grant.principal, name_in(fields, "principal"));
  return grant;
}

Result<GovernanceObject> object_grant_of(const Value& body, const Fields& fields) {
  RETURN_IF_ERROR(check_members(body, {"object-kind", "schema", "object", "privilege", "role"}));
  ObjectGrant grant;
  ASSIGN_OR_RETURN(grant.kind, word_in(fields, "object-kind", kGranted));
  ASSIGN_OR_RETURN(grant.object, object_in(fields, grant.kind));
  ASSIGN_OR_RETURN(grant.privilege, fields.string("privilege"));
  constexpr std::string_view kPrivileges[] = {"select", "insert", "update", "delete"};
  if (std::ranges::find(kPrivileges, grant.privilege) == std::end(kPrivileges)) {
    return broken("privilege", "must be one of select, insert, update, delete");
  }
  ASSIGN_OR_RETURN(grant.role, name_in(fields, "role"));
  return grant;
}

}  // namespace

std::string ObjectName::display() const {
  std::string text = schema.display();
  if (!object.empty()) text += "." + object;
  if (!column.empty()) text += "." + column;
  return text;
}

std::string_view to_string(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kSchema: return "schema";
    case ObjectKind::kTable: return "table";
    case ObjectKind::kView: return "view";
    case ObjectKind::kColumn: return "column";
  }
  return "";
}

std::string_view to_string(PolicyKind kind) {
  return kind == PolicyKind::kMasking ? "masking" : "row_access";
}

std::string_view to_string(TargetKind kind) {
  switch (kind) {
    case TargetKind::kTag: return "tag";
    case TargetKind::kColumn: return "column";
    case TargetKind::kTable: return "table";
  }
  return "";
}

std::string_view to_string(Collection collection) {
  switch (collection) {
    case Collection::kTags: return "tags";
    case Collection::kObjectTags: return "object-tags";
    case Collection::kMaskingPolicies: return "masking-policies";
    case Collection::kRowAccessPolicies: return "row-access-policies";
    case Collection::kPolicyAttachments: return "policy-attachments";
    case Collection::kRoles: return "roles";
    case Collection::kRoleGrants: return "role-grants";
    case Collection::kObjectGrants: return "object-grants";
  }
  return "";
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMostName && base::is_utf8(text) &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<model::Namespace> schema_of(std::string_view text) {
  std::vector<std::string> levels;
  while (true) {
    const std::string_view level = text.substr(0, text.find('.'));
    auto decoded = base::percent_decode(level);
    if (!decoded) return fail(ErrorKind::kInvalid, "wrong percent-encoding");
    levels.push_back(std::move(*decoded));
    if (level.size() == text.size()) break;
    text.remove_prefix(level.size() + 1);
  }
  return model::make_namespace(std::move(levels));
}

Result<model::TableIdentifier> table_of(std::string_view text) {
  ASSIGN_OR_RETURN(model::Namespace name, schema_of(text));
  if (name.levels.size() < 2) return fail(ErrorKind::kInvalid, "must be namespace.table");
  std::string table = std::move(name.levels.back());
  name.levels.pop_back();
  return model::TableIdentifier{std::move(name), std::move(table)};
}

Result<GovernanceObject> object_from_json(Collection collection, const Value& body) {
  ASSIGN_OR_RETURN(auto fields, Fields::of(body, ""));
  switch (collection) {
    case Collection::kTags: return tag_of(body, fields);
    case Collection::kObjectTags: return object_tag_of(body, fields);
    case Collection::kMaskingPolicies: return policy_of(PolicyKind::kMasking, body, fields);
    case Collection::kRowAccessPolicies: return policy_of(PolicyKind::kRowAccess, body, fields);
    case Collection::kPolicyAttachments: return attachment_of(body, fields);
    case Collection::kRoles: return role_of(body, fields);
    case Collection::kRoleGrants: return role_grant_of(body, fields);
    case Collection::kObjectGrants: return object_grant_of(body, fields);
  }
  return fail(ErrorKind::kInternal, "no such collection");
}

std::string schema_text(const model::Namespace& schema) {
  std::string text;
  for (const std::string& level : schema.levels) {
    if (!text.empty()) text += '.';
    for (const char c : level) {
      if (c == '.' || c == '%') {
        text += c == '.' ? "%2E" : "%25";
      } else {
        text += c;
      }
    }
  }
  return text;
}

namespace {

using base::json::Object;

void add_object(Object& name, const ObjectName& object) {
  name["schema"] = schema_text(object.schema);
  if (!object.object.empty()) name["object"] = object.object;
  if (!object.column.empty()) name["column"] = object.column;
}

void add_tag(Object& name, const TagName& tag) {
  name["tag-namespace"] = tag.name_space;
  name["tag-name"] = tag.name;
}

struct NameOf {
  Object operator()(const Tag& tag) const {
    return {{"namespace", tag.tag.name_space}, {"name", tag.tag.name}};
  }
  Object operator()(const ObjectTag& tag) const {
    Object name{{"object-kind", to_string(tag.kind)}};
    add_object(name, tag.object);
    add_tag(name, tag.tag);
    return name;
  }
  Object operator()(const Policy& policy) const { return {{"name", policy.name}}; }
  Object operator()(const PolicyAttachment& attachment) const {
    Object name{{"policy-kind", to_string(attachment.policy_kind)},
                {"policy-name", attachment.policy},
                {"target-kind", to_string(attachment.target_kind)}};
    if (attachment.target_kind == TargetKind::kTag) {
      add_tag(name, attachment.tag);
    } else {
      add_object(name, attachment.object);
    }
    return name;
  }
  Object operator()(const Role& role) const { return {{"name", role.name}}; }
  Object operator()(const RoleGrant& grant) const {
    return {{"role", grant.role}, {"principal", grant.principal}};
  }
  Object operator()(const ObjectGrant& grant) const {
    Object name{{"object-kind", to_string(grant.kind)}};
    add_object(name, grant.object);
    name["privilege"] = grant.privilege;
    name["role"] = grant.role;
    return name;
  }
};

}  // namespace

Object name_of(const GovernanceObject& object) { return std::visit(NameOf{}, object); }

}  // namespace lake::governance
