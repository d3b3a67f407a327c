#include "lakeproxy/governance/resolver.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/duckdb/sql_text.h"
#include "base/json/fields.h"
#include "lakeproxy/auth/token_claims.h"

namespace lake::governance {
namespace {

using base::ErrorKind;
using base::Result;
using base::Task;
using base::pg::param;
using policy::ReadPlan;

// Beyond, what is kept is dropped and read again.
constexpr std::size_t kMostKept = 10'000;
constexpr std::size_t kSignature = 32;  // Hexadecimal digits.

// A table that was dropped has the schema of its last row. $1 the table, $2 the principal and
// whoever acts for it, each once, $3 how many: a role is of all of them or of none.
constexpr auto kReaches = R"sql(
WITH place AS MATERIALIZED (
  SELECT t.schema_id FROM @ducklake_table t WHERE t.table_id = $1::bigint ORDER BY t.begin_snapshot DESC LIMIT 1
)
SELECT (SELECT v.version FROM @lakeproxy_policy_version v),
       (SELECT coalesce(jsonb_agg(r.role ORDER BY r.role), '[]')
          FROM (SELECT g.role FROM @lakeproxy_role_grant g WHERE g.principal = ANY ($2::text[])
                 GROUP BY g.role HAVING count(DISTINCT g.principal) = $3::bigint) AS r),
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                 'kind', r.policy_kind, 'policy', r.policy_name, 'level', r.level, 'tag', r.tag, 'column', r.column_id,
                 'columns', r.column_ids, 'compiled', coalesce(m.compiled, w.compiled),
                 'unmasked_roles', coalesce(m.unmasked_roles, w.unmasked_roles), 'file_layer', m.file_layer_masking)
                 ORDER BY r.policy_name, r.level, r.tag, r.column_id), '[]')
          FROM (SELECT a.policy_kind, a.policy_name, 'direct' AS level, NULL AS tag, a.column_id, a.column_ids
                  FROM @lakeproxy_policy_attachment a WHERE a.table_id = $1::bigint
                 UNION ALL
                SELECT a.policy_kind, a.policy_name, o.object_kind, o.tag_namespace || '.' || o.tag_name, nullif(o.column_id, 0), NULL
                  FROM @lakeproxy_object_tag o
                  JOIN @lakeproxy_policy_attachment a ON (a.tag_namespace, a.tag_name) = (o.tag_namespace, o.tag_name)
                 WHERE (o.object_id = $1::bigint AND o.object_kind IN ('table', 'column'))
                    OR (o.object_kind = 'schema' AND o.object_id = (SELECT p.schema_id FROM place p))) AS r
          LEFT JOIN @lakeproxy_masking_policy m ON r.policy_kind = 'masking' AND m.name = r.policy_name
          LEFT JOIN @lakeproxy_row_access_policy w ON r.policy_kind = 'row_access' AND w.name = r.policy_name),
       (SELECT p.schema_id FROM place p))sql";

// $1 the lake's schema, $2 how many, $3 one table's name or null.
constexpr auto kGoverned = R"sql(
WITH reached AS MATERIALIZED (
  SELECT o.object_kind, o.object_id FROM @lakeproxy_object_tag o
    JOIN @lakeproxy_policy_attachment a ON (a.tag_namespace, a.tag_name) = (o.tag_namespace, o.tag_name)
   UNION ALL
  SELECT 'table', a.table_id FROM @lakeproxy_policy_attachment a WHERE a.table_id IS NOT NULL
)
SELECT t.table_name FROM @ducklake_table t
 WHERE t.schema_id = (SELECT @lakeproxy_find_schema($1)) AND t.end_snapshot IS NULL
   AND ($3::text IS NULL OR t.table_name = $3)
   AND (t.table_id IN (SELECT r.object_id FROM reached r WHERE r.object_kind IN ('table', 'column'))
        OR t.schema_id IN (SELECT r.object_id FROM reached r WHERE r.object_kind = 'schema'))
 ORDER BY t.table_name COLLATE "C" LIMIT $2)sql";

Reach::Level level_of(std::string_view word) {
  if (word == "column") return Reach::Level::kColumn;
  if (word == "table") return Reach::Level::kTable;
  return word == "schema" ? Reach::Level::kSchema : Reach::Level::kDirect;
}

Result<Reach> reach_of(const base::json::Fields& fields) {
  Reach reach;
  ASSIGN_OR_RETURN(const std::string kind, fields.string("kind"));
  reach.kind = kind == "masking" ? PolicyKind::kMasking : PolicyKind::kRowAccess;
  ASSIGN_OR_RETURN(reach.policy, fields.string("policy"));
  ASSIGN_OR_RETURN(const std::string level, fields.string("level"));
  reach.level = level_of(level);
  ASSIGN_OR_RETURN(const auto tag, fields.opt_string("tag"));
  reach.tag = tag.value_or("");
  ASSIGN_OR_RETURN(const auto field, fields.opt_int32("column"));
  reach.field = field.value_or(0);
  if (fields.has("columns")) {
    ASSIGN_OR_RETURN(reach.columns, fields.int32s("columns"));
  }
  if (!fields.has("compiled")) return reach;
  ASSIGN_OR_RETURN(reach.body, CompiledBody::from_json(*fields.find("compiled")));
  ASSIGN_OR_RETURN(reach.unmasked_roles, fields.strings("unmasked_roles"));
  ASSIGN_OR_RETURN(const auto file_layer, fields.opt_boolean("file_layer"));
  reach.file_layer_masking = file_layer.value_or(false);
  return reach;
}

Result<TablePolicies> read_policies(const base::pg::Rows& rows) {
  TablePolicies policies{
      .version = policy::PolicyVersion(rows.int64(0, 0)), .reaches = {}, .granted = {}};
  if (!rows.is_null(0, 3)) policies.name_space = model::NamespaceId(rows.int64(0, 3));
  ASSIGN_OR_RETURN(const auto granted, base::json::parse(rows.text(0, 1)));
  for (const auto& role : granted.as_array()) policies.granted.emplace_back(role.as_string());
  ASSIGN_OR_RETURN(const auto reaches, base::json::parse(rows.text(0, 2)));
  for (const auto& one : reaches.as_array()) {
    ASSIGN_OR_RETURN(const auto fields, base::json::Fields::of(one, "policy"));
    ASSIGN_OR_RETURN(Reach reach, reach_of(fields));
    policies.reaches.push_back(std::move(reach));
  }
  return policies;
}

// Of what could not be read as a whole. What does not say that it is cooperative is not.
bool may_mask_files(std::string_view reaches) {
  auto all = base::json::parse(reaches);
  if (!all || !all->is_array()) return true;
  return std::ranges::any_of(all->as_array(), [](const base::json::Value& one) {
    auto fields = base::json::Fields::of(one, "policy");
    if (!fields) return true;
    auto kind = fields->string("kind");
    if (kind && *kind == "row_access") return false;
    auto file_layer = fields->opt_boolean("file_layer");
    return !file_layer || file_layer->value_or(true);
  });
}

// The principal and whoever acts for it, as one text: with its length, since a name may hold any
// mark between two.
std::string key_of(const auth::Principal& principal) {
  const fmt::format_int size(principal.subject.size());
  std::string key(size.data(), size.size());
  return key.append(1, ':').append(principal.subject).append(principal.actor);
}

const std::vector<std::string>& token_roles_of(const auth::Principal& principal) {
  static const std::vector<std::string> none;
  return principal.grants ? principal.grants->roles : none;
}

bool share_one(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::any_of(
      a, [&](const std::string& one) { return std::ranges::find(b, one) != b.end(); });
}

// What several policies on one column have in common: nothing of the value is left.
policy::ColumnMask withheld(const StateColumn& column, const std::vector<const Reach*>& reaches) {
  policy::ColumnMask mask{.field = column.field,
                          .column = column.name,
                          .expression = fmt::format("CAST(NULL AS {})", column.type),
                          .policy = "",
                          .why = ""};
  for (const Reach* reach : reaches) {
    mask.policy += (mask.policy.empty() ? "" : ", ") + reach->policy;
    mask.why += (mask.why.empty() ? "" : ", ") + why(*reach);
  }
  return mask;
}

// Makes one plan.
class Resolution {
 public:
  Resolution(const std::vector<Reach>& reaches, const std::vector<std::string>& roles,
             const TableState& state)
      : state_(state) {
    for (const Reach& reach : reaches) {
      // Whether a role is let off is asked of each policy by itself.
      if (share_one(reach.unmasked_roles, roles)) {
        lifted_.push_back(reach.policy);
      } else {
        applied_.push_back(&reach);
      }
    }
    std::ranges::sort(lifted_);
    const auto twice = std::ranges::unique(lifted_);
    lifted_.erase(twice.begin(), twice.end());
  }

  ReadPlan plan(policy::PolicyVersion version);

 private:
  void refuse(std::string reason) {
    if (refusal_.empty()) refusal_ = std::move(reason);
  }
  void mask_columns();
  void filter_rows(const Reach& reach);
  [[nodiscard]] const StateColumn* column(model::FieldId field) const;
  [[nodiscard]] const StateColumn* column(std::string_view name) const;
  void sign();

  const TableState& state_;
  std::vector<const Reach*> applied_;
  std::vector<std::string> lifted_;
  policy::MaskPlan plan_;
  std::string refusal_;
};

const StateColumn* Resolution::column(model::FieldId field) const {
  auto found = std::ranges::find(state_.columns, field, &StateColumn::field);
  return found == state_.columns.end() ? nullptr : &*found;
}

// That of the name, or the only one that SQL takes for it.
const StateColumn* Resolution::column(std::string_view name) const {
  const StateColumn* alike = nullptr;
  std::size_t count = 0;
  for (const StateColumn& one : state_.columns) {
    if (one.name == name) return &one;
    if (!same_name(one.name, name)) continue;
    alike = &one;
    ++count;
  }
  return count == 1 ? alike : nullptr;
}

bool reaches_column(const Reach& reach, const StateColumn& column) {
  if (reach.kind != PolicyKind::kMasking) return false;
  const bool of_all = reach.level == Reach::Level::kTable || reach.level == Reach::Level::kSchema;
  return of_all || reach.field == column.field;
}

void Resolution::mask_columns() {
  for (const StateColumn& column : state_.columns) {
    std::vector<const Reach*> found;
    for (const Reach* reach : applied_) {
      const auto is_same = [&](const Reach* other) { return other->policy == reach->policy; };
      if (reaches_column(*reach, column) && std::ranges::none_of(found, is_same))
        found.push_back(reach);
    }
    if (found.empty()) continue;
    if (found.size() > 1 && !column.is_dropped) {
      refuse(fmt::format("two masking policies reach the column {}: {}, {}", column.name,
                         found[0]->policy, found[1]->policy));
      continue;
    }
    if (found.size() > 1) {
      plan_.masks.push_back(withheld(column, found));
      continue;
    }
    const Reach& reach = *found.front();
    plan_.masks.push_back({.field = column.field,
                           .column = column.name,
                           .expression = mask_expression(*reach.body, column.name, column.type),
                           .policy = reach.policy,
                           .why = why(reach)});
  }
}

void Resolution::filter_rows(const Reach& reach) {
  policy::RowFilter filter{
      .policy = reach.policy, .predicate = "", .columns = {}, .why = why(reach)};
  const std::vector<Argument>& arguments = reach.body->arguments();
  std::vector<Argument> columns;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool by_id = reach.level == Reach::Level::kDirect;
    const StateColumn* found = by_id
                                   ? (i < reach.columns.size() ? column(reach.columns[i]) : nullptr)
                                   : column(arguments[i].name);
    if (found == nullptr) {
      return refuse(fmt::format(
          "the row-access policy {} reads a column that the table has not: its argument {}",
          reach.policy, arguments[i].name));
    }
    columns.push_back({found->name, found->type});
    filter.columns.push_back({found->field, found->name});
  }
  filter.predicate = filter_predicate(*reach.body, columns);
  const auto is_same = [&](const policy::RowFilter& other) {
    return other.policy == filter.policy && other.predicate == filter.predicate;
  };
  if (std::ranges::none_of(plan_.filters, is_same)) plan_.filters.push_back(std::move(filter));
}

// Over what a reader gets, and not over the names of what decided it.
void Resolution::sign() {
  base::json::Array masks, filters;
  for (const policy::ColumnMask& mask : plan_.masks) {
    masks.push_back(base::json::Array{mask.field, mask.column, mask.expression});
  }
  for (const policy::RowFilter& filter : plan_.filters) filters.emplace_back(filter.predicate);
  const auto digest = base::crypto::sha256(
      base::json::write(base::json::Array{1, std::move(masks), std::move(filters)}));
  plan_.signature = base::crypto::to_hex(base::crypto::view(digest)).substr(0, kSignature);
}

ReadPlan Resolution::plan(policy::PolicyVersion version) {
  bool masks_files = state_.masks_files;
  for (const Reach* reach : applied_) {
    if (!reach->body)
      return ReadPlan::refused(
          fmt::format("the policy {} is attached and does not exist", reach->policy), version);
  }
  mask_columns();
  for (const Reach* reach : applied_) {
    if (reach->kind == PolicyKind::kRowAccess) filter_rows(*reach);
    const bool masks = std::ranges::any_of(
        state_.columns, [&](const StateColumn& one) { return reaches_column(*reach, one); });
    masks_files = masks_files || (masks && reach->file_layer_masking);
  }
  if (!refusal_.empty()) return ReadPlan::refused(refusal_, version);
  if (plan_.masks.empty() && plan_.filters.empty()) {
    return ReadPlan::raw(version, std::move(lifted_));
  }
  std::ranges::sort(plan_.masks, {}, &policy::ColumnMask::field);
  std::ranges::sort(plan_.filters, {}, [](const policy::RowFilter& filter) {
    return std::tie(filter.policy, filter.predicate);
  });
  sign();
  auto made = std::make_shared<const policy::MaskPlan>(std::move(plan_));
  return masks_files ? ReadPlan::file_mask(std::move(made), version)
                     : ReadPlan::cooperative(std::move(made), version);
}

}  // namespace

std::string why(const Reach& reach) {
  switch (reach.level) {
    case Reach::Level::kDirect:
      return reach.kind == PolicyKind::kMasking ? "attached to the column"
                                                : "attached to the table";
    case Reach::Level::kColumn: return fmt::format("tag {} of the column", reach.tag);
    case Reach::Level::kTable: return fmt::format("tag {} of the table", reach.tag);
    case Reach::Level::kSchema: return fmt::format("tag {} of the schema", reach.tag);
  }
  return "";
}

ReadPlan resolve(const std::vector<Reach>& reaches, const std::vector<std::string>& roles,
                 const TableState& state, policy::PolicyVersion version) {
  return Resolution(reaches, roles, state).plan(version);
}

std::vector<std::string> Resolver::roles_of(const auth::Principal& principal,
                                            const TablePolicies& policies) {
  std::vector<std::string> roles = policies.granted;
  if (principal.grants) {
    roles.insert(roles.end(), principal.grants->roles.begin(), principal.grants->roles.end());
  }
  std::ranges::sort(roles);
  const auto twice = std::ranges::unique(roles);
  roles.erase(twice.begin(), twice.end());
  return roles;
}

Task<Result<TablePolicies>> Resolver::read(base::RequestContext context, model::TableId table,
                                           std::vector<std::string> names) const {
  const std::set<std::optional<std::string>> each(names.begin(), names.end());
  CO_ASSIGN_OR_RETURN(auto rows,
                      co_await pool_->query(
                          context, {sql_(kReaches),
                                    {param(table.value),
                                     base::pg::array_param(std::vector<std::optional<std::string>>(
                                         each.begin(), each.end())),
                                     param(static_cast<std::int64_t>(each.size()))}}));
  auto policies = read_policies(*rows);
  if (policies) co_return policies;
  auto error = base::fail(ErrorKind::kCorrupt, policies.error().message());
  co_return may_mask_files(rows->text(0, 2)) ? std::move(error)
                                             : std::move(error).with_reason(kNoMaskInFiles);
}

Task<Result<std::vector<std::string>>> Resolver::governed_tables(base::RequestContext context,
                                                                 std::string schema,
                                                                 std::optional<std::string> table,
                                                                 std::size_t most) const {
  base::pg::Query query{
      sql_(kGoverned),
      {param(std::move(schema)), param(static_cast<std::int64_t>(most) + 1), std::move(table)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(query)));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < rows->size(); ++i) names.emplace_back(rows->text(i, 0));
  co_return names;
}

// Whether all that reaches the table is known, at this version, to be cooperative. Not known is no.
bool Resolver::is_cooperative(const TableState& state,
                              std::optional<policy::PolicyVersion> version) const {
  if (!version || version_ != *version) return false;
  const auto found = kept_.lower_bound(Key(state.table, ""));
  return found != kept_.end() && found->first.first == state.table &&
         found->second.policies->name_space == state.name_space &&
         std::ranges::none_of(found->second.policies->reaches, [](const Reach& reach) {
           return reach.file_layer_masking || !reach.body;
         });
}

std::optional<ReadPlan> Resolver::held(const auth::Principal& principal, model::TableId table,
                                       model::NamespaceId name_space, std::string_view state,
                                       policy::PolicyVersion version) const {
  if (version_ != version || state.empty()) return std::nullopt;
  const auto found = kept_.find(Key(table, key_of(principal)));
  if (found == kept_.end() || found->second.state != state) return std::nullopt;
  if (found->second.policies->name_space != name_space) return std::nullopt;
  // The same principal with another token may have other roles.
  if (found->second.token_roles != token_roles_of(principal)) return std::nullopt;
  return found->second.plan;
}

Task<Result<ReadPlan>> Resolver::plan(base::RequestContext context, auth::Principal principal,
                                      TableState state,
                                      std::optional<policy::PolicyVersion> version) {
  std::vector<std::string> names = auth::names_of(principal);
  if (names.size() > 1 && actor_masks_ == ActorMasks::kInFiles) state.masks_files = true;
  const Key key(state.table, key_of(principal));
  auto found = kept_.find(key);
  const bool is_kept = version && version_ == *version && found != kept_.end() &&
                       found->second.policies->name_space == state.name_space;
  auto policies = is_kept ? found->second.policies : nullptr;
  if (policies == nullptr) {
    auto read_now = co_await read(context, state.table, std::move(names));
    if (!read_now) {
      base::Error error = std::move(read_now).error();
      const bool said_so = error.reason() == kNoMaskInFiles;
      if (!state.masks_files && (said_so || is_cooperative(state, version))) {
        co_return std::move(error).with_reason(kNoMaskInFiles);
      }
      if (said_so) co_return std::move(error).with_reason("");
      co_return error;
    }
    policies = std::make_shared<const TablePolicies>(std::move(*read_now));
    if (policies->version != version_ || kept_.size() >= kMostKept) kept_.clear();
    version_ = policies->version;
    found = kept_.insert_or_assign(key, Kept{.policies = policies}).first;
  }
  ReadPlan made =
      resolve(policies->reaches, roles_of(principal, *policies), state, policies->version);
  if (!state.key.empty()) {
    Kept& kept = found->second;
    kept.state = std::move(state.key);
    kept.token_roles = token_roles_of(principal);
    kept.plan = made;
  }
  co_return made;
}

}  // namespace lake::governance
