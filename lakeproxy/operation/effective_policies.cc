#include "lakeproxy/operation/effective_policies.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/engine/parquet/engine_schema.h"
#include "lakeproxy/operation/masking_view.h"

namespace lake::operation {
namespace {

using base::json::Array;
using base::json::Object;
using governance::PolicyKind;
using governance::Reach;
using governance::StateColumn;
using governance::TableState;

constexpr auto kFileLayer = "lakeproxy.file-layer-masking";

// Types that the engine has and Parquet cannot hold in its form.
std::string type_of(const model::Field& field, const model::LakeTypes& lake_types) {
  auto type = exporter::engine_type(field, lake_types);
  if (type) return std::move(*type);
  switch (field.type.kind()) {
    case model::TypeKind::kVariant: return "VARIANT";
    case model::TypeKind::kGeometry:
    case model::TypeKind::kGeography: return "GEOMETRY";
    case model::TypeKind::kTimestamptzNs: return "TIMESTAMP WITH TIME ZONE";
    default: return "VARCHAR";
  }
}

Array names_of(const std::vector<std::string>& names) { return Array(names.begin(), names.end()); }

bool lets_off(const Reach& reach, const std::vector<std::string>& roles) {
  return std::ranges::any_of(reach.unmasked_roles, [&](const std::string& role) {
    return std::ranges::find(roles, role) != roles.end();
  });
}

Object told(const Reach& reach, const std::vector<std::string>& roles) {
  return {{"name", reach.policy},
          {"why", why(reach)},
          {"unmasked-roles", names_of(reach.unmasked_roles)},
          {"bypassed", lets_off(reach, roles)}};
}

bool reaches(const Reach& reach, const StateColumn& column) {
  if (reach.kind != PolicyKind::kMasking) return false;
  return reach.level == Reach::Level::kTable || reach.level == Reach::Level::kSchema ||
         reach.field == column.field;
}

Array column_masks(const std::vector<Reach>& all, const std::vector<std::string>& roles,
                   const TableState& state) {
  Array columns;
  for (const StateColumn& column : state.columns) {
    Array policies;
    for (const Reach& reach : all) {
      if (!reaches(reach, column)) continue;
      Object mask = told(reach, roles);
      mask["file-layer-masking"] = reach.file_layer_masking;
      policies.push_back(std::move(mask));
    }
    if (policies.empty()) continue;
    columns.push_back(Object{{"column", column.name}, {"masking_policies", std::move(policies)}});
  }
  return columns;
}

Array row_access_policies(const std::vector<Reach>& all, const std::vector<std::string>& roles) {
  Array policies;
  for (const Reach& reach : all) {
    if (reach.kind == PolicyKind::kRowAccess) policies.push_back(told(reach, roles));
  }
  return policies;
}

Object enforcement(const policy::ReadPlan& plan, const model::Schema& schema,
                   const model::TableIdentifier& table) {
  Object told{{"kind", to_string(plan.kind())},
              {"policy_version", plan.version().value},
              {"masked_columns", Array{}},
              {"masks", Object{}},
              {"row_filter", nullptr},
              {"applied_policies", Array{}},
              {"view_sql", nullptr}};
  if (plan.kind() == policy::ReadKind::kRefused) told["reason"] = plan.reason();
  if (plan.mask() == nullptr) return told;
  told["masked_columns"] = names_of(policy::masked_columns_of(*plan.mask()));
  for (const policy::ColumnMask& mask : plan.mask()->masks) {
    told["masks"].as_object()[mask.column] = mask.expression;
  }
  told["applied_policies"] = names_of(policy::policies_of(*plan.mask()));
  if (!plan.mask()->filters.empty()) told["row_filter"] = policy::row_filter_of(*plan.mask());
  told["view_sql"] = masking_query(*plan.mask(), schema, duckdb_name(table));
  told["signature"] = plan.mask()->signature;
  return told;
}

}  // namespace

TableState governed_state(const publish::LoadedTable& loaded, const model::Schema& shown) {
  const model::Schema& current = loaded.metadata.current_schema();
  TableState state{
      .table = loaded.table.table_id, .columns = {}, .name_space = loaded.table.namespace_id};
  for (const model::Field& field : shown.fields) {
    const bool is_there =
        std::ranges::find(current.fields, field.id, &model::Field::id) != current.fields.end();
    state.columns.push_back({.field = field.id,
                             .name = field.name,
                             .type = type_of(field, loaded.table.lake_types),
                             .is_dropped = !is_there});
  }
  auto property = loaded.metadata.properties.find(kFileLayer);
  state.masks_files = property != loaded.metadata.properties.end() && property->second == "true";
  return state;
}

base::Task<base::Result<PlanFor>> plan_for(base::RequestContext context, Catalog* catalog,
                                           EffectivePolicies asked) {
  CO_ASSIGN_OR_RETURN(auto loaded, co_await catalog->loaded_tables->get(context, asked.table));
  CO_ASSIGN_OR_RETURN(governance::TablePolicies policies,
                      co_await catalog->resolver->read(context, loaded->table.table_id,
                                                       std::vector<std::string>{asked.principal}));
  auth::Principal principal{.subject = asked.principal};
  auth::Grants grants;
  grants.roles = asked.token_roles;
  principal.grants = std::make_shared<const auth::Grants>(std::move(grants));
  auto roles = governance::Resolver::roles_of(principal, policies);
  TableState state = governed_state(*loaded, loaded->metadata.current_schema());
  policy::ReadPlan plan = resolve(policies.reaches, roles, state, policies.version);
  co_return PlanFor{std::move(loaded), std::move(state), std::move(policies), std::move(roles),
                    std::move(plan)};
}

base::Task<base::Result<Object>> effective_policies(base::RequestContext context, Catalog* catalog,
                                                    policy::Authorized<EffectivePolicies> request) {
  const EffectivePolicies& asked = *request;
  CO_ASSIGN_OR_RETURN(const PlanFor found, co_await plan_for(context, catalog, asked));
  const auto& reaches = found.policies.reaches;
  co_return Object{{"principal", asked.principal},
                   {"roles", names_of(found.roles)},
                   {"table", asked.table.display()},
                   {"column_masks", column_masks(reaches, found.roles, found.state)},
                   {"row_access_policies", row_access_policies(reaches, found.roles)},
                   {"enforcement",
                    enforcement(found.plan, found.loaded->metadata.current_schema(), asked.table)}};
}

}  // namespace lake::operation
