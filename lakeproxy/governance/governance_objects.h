#pragma once

// What an administrator writes of governance: the bodies of the requests under /governance, as
// values. Names of objects are the client's here; the store finds the lake's ids.
// Source: specification, section 2.4.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/model/identifier.h"

namespace lake::governance {

struct TagName {
  std::string name_space;
  std::string name;
  /// "pii.ssn"; for people.
  [[nodiscard]] std::string display() const { return name_space + "." + name; }
  friend bool operator==(const TagName&, const TagName&) = default;
};

struct Tag {
  TagName tag;
  std::optional<std::vector<std::string>> allowed_values;  ///< Nothing: any.
};

/// A schema, or what is in it.
struct ObjectName {
  model::Namespace schema;
  std::string object;  ///< Empty for the schema itself.
  std::string column;  ///< Empty where it is no column.
  /// "sales.orders.ssn"; for the audit trail and errors.
  [[nodiscard]] std::string display() const;
};

enum class ObjectKind : std::uint8_t { kSchema, kTable, kView, kColumn };
[[nodiscard]] std::string_view to_string(ObjectKind kind);

struct ObjectTag {
  ObjectKind kind = ObjectKind::kTable;
  ObjectName object;
  TagName tag;
  std::optional<std::string> value;
};

enum class PolicyKind : std::uint8_t { kMasking, kRowAccess };
[[nodiscard]] std::string_view to_string(PolicyKind kind);

struct Policy {
  PolicyKind kind = PolicyKind::kMasking;
  std::string name;
  std::string signature;
  std::string body;
  std::vector<std::string> unmasked_roles;
  bool file_layer_masking = false;  ///< Of a mask.
};

enum class TargetKind : std::uint8_t { kTag, kColumn, kTable };
[[nodiscard]] std::string_view to_string(TargetKind kind);

struct PolicyAttachment {
  PolicyKind policy_kind = PolicyKind::kMasking;
  std::string policy;
  TargetKind target_kind = TargetKind::kTag;
  TagName tag;        ///< Of a tag.
  ObjectName object;  ///< Of a column or table.
  /// Of a row-access policy at a table: the columns that are its arguments, in their order.
  /// Nothing: those of the arguments' names.
  std::optional<std::vector<std::string>> columns;
};

struct Role {
  std::string name;
};
struct RoleGrant {
  std::string role;
  std::string principal;
};
struct ObjectGrant {
  ObjectKind kind = ObjectKind::kTable;  ///< No column.
  ObjectName object;
  std::string privilege;  ///< "select", "insert", "update" or "delete".
  std::string role;
};

/// One collection under /governance.
enum class Collection : std::uint8_t {
  kTags,
  kObjectTags,
  kMaskingPolicies,
  kRowAccessPolicies,
  kPolicyAttachments,
  kRoles,
  kRoleGrants,
  kObjectGrants,
};
/// "object-tags": the last part of its path.
[[nodiscard]] std::string_view to_string(Collection collection);

using GovernanceObject =
    std::variant<Tag, ObjectTag, Policy, PolicyAttachment, Role, RoleGrant, ObjectGrant>;

/// What the body of a POST to that collection says.
/// Errors: kInvalid  names the member and the rule: an unknown member, a wrong type, a name that is
///         empty, over 255 bytes or holds control characters, a kind that is none, a member that
///         the kind has not, and an attachment that no read would follow: a mask of a table, a
///         row-access policy of a column.
[[nodiscard]] base::Result<GovernanceObject> object_from_json(Collection collection,
                                                              const base::json::Value& body);
/// A namespace in one text: levels parted by '.', each may be percent-encoded ("%2E" for a dot in a
/// name), as in scopes. Errors: kInvalid, without a member's name.
[[nodiscard]] base::Result<model::Namespace> schema_of(std::string_view text);
/// The same of a table: "sales.orders". Errors: kInvalid.
[[nodiscard]] base::Result<model::TableIdentifier> table_of(std::string_view text);
/// What schema_of() reads.
[[nodiscard]] std::string schema_text(const model::Namespace& schema);
/// The members that name it, for answers and the audit trail.
[[nodiscard]] base::json::Object name_of(const GovernanceObject& object);
/// Whether a name of governance may be so: 1 to 255 bytes, UTF-8, no control characters.
[[nodiscard]] bool is_name(std::string_view text);

}  // namespace lake::governance
