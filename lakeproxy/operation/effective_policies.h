#pragma once

// Which policies reach a table for a principal, and what follows: for administrators, who have to
// see what they wrote. The same resolution as that of reads.
// Source: specification, section 4 ("effective-policies").

#include <string>
#include <vector>

#include "base/json/json.h"
#include "lakeproxy/governance/resolver.h"
#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

struct EffectivePolicies {
  model::TableIdentifier table;
  std::string principal;  ///< A token's subject.
  /// Roles that its token names, beside those that are granted here.
  std::vector<std::string> token_roles;
};
[[nodiscard]] inline policy::Targets targets(const EffectivePolicies&) {
  return {policy::Target::catalog()};
}

/// What follows from the policies of now for somebody who need not be there.
struct PlanFor {
  publish::LoadedTablePtr loaded;
  governance::TableState state;
  governance::TablePolicies policies;
  std::vector<std::string> roles;  ///< Of its token and granted here.
  policy::ReadPlan plan;
};
/// `catalog` outlives the task. Errors: those of LoadedTables::get() and Resolver::read().
[[nodiscard]] base::Task<base::Result<PlanFor>> plan_for(base::RequestContext context,
                                                         Catalog* catalog, EffectivePolicies asked);

/// The columns of one schema of a loaded table, for the resolver. A column that the current schema
/// has not counts as dropped.
[[nodiscard]] governance::TableState governed_state(const publish::LoadedTable& loaded,
                                                    const model::Schema& shown);

/// principal, roles, table, column_masks, row_access_policies, enforcement.
/// Errors: those of LoadedTables::get() and Resolver::read().
[[nodiscard]] base::Task<base::Result<base::json::Object>> effective_policies(
    base::RequestContext context, Catalog* catalog, policy::Authorized<EffectivePolicies> request);

}  // namespace lake::operation
