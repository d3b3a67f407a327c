#pragma once

// Which policies reach a table, for one principal: the plan of a read. Decided by the ids of the
// very state that is shown, since a name may stand for another column there.
//
// What is attached is read in one query, and kept until the version of the policies moves; the
// version comes with the question that every request asks of the lake anyway.
// Source: specification, sections 2.5 and 4 ("Policy-composition rules at read time").

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/governance/governance_objects.h"
#include "lakeproxy/governance/policy_body.h"
#include "lakeproxy/model/ids.h"
#include "lakeproxy/policy/read_plan.h"

namespace lake::governance {

/// The reason of an error of Resolver::plan(): the policies cannot be told, but none that reaches
/// the table masks files. A read that policies of the cooperative tier alone stand before may be
/// let through (specification, section 7, "Failure posture").
inline constexpr std::string_view kNoMaskInFiles = "no_mask_in_files";

/// A column of the state that is shown, at the table's top.
struct StateColumn {
  model::FieldId field = 0;
  std::string name;
  std::string type;         ///< SQL of DuckDB.
  bool is_dropped = false;  ///< The table as it is now lacks it: an older state is shown.
};

/// The state of a table that is about to be shown.
struct TableState {
  model::TableId table;
  std::vector<StateColumn> columns;
  model::NamespaceId name_space = {};  ///< Whose tags reach the table, too.
  /// Masks of this table are kept to files whatever their policies say: the table's property
  /// lakeproxy.file-layer-masking.
  bool masks_files = false;
  /// Tells the state from all others of the table. Empty: its plan is not kept.
  std::string key = {};
};

/// A policy and the way on which it reaches a table.
struct Reach {
  enum class Level : std::uint8_t { kDirect, kColumn, kTable, kSchema };
  PolicyKind kind = PolicyKind::kMasking;
  std::string policy;
  /// Nothing: it is attached and is not there, which refuses the read.
  std::optional<CompiledBody> body;
  std::vector<std::string> unmasked_roles;
  bool file_layer_masking = false;
  Level level = Level::kDirect;
  std::string tag;           ///< "pii.ssn"; empty where it is attached directly.
  model::FieldId field = 0;  ///< Of kColumn, and of a mask that is attached directly.
  /// Of a row-access policy that is attached directly: the columns of its arguments.
  std::vector<model::FieldId> columns;
};

/// Why a policy reaches: "attached to the column", "tag pii.ssn of the schema".
[[nodiscard]] std::string why(const Reach& reach);

/// The plan for a principal with these roles. Pure: the same input gives the same plan.
[[nodiscard]] policy::ReadPlan resolve(const std::vector<Reach>& reaches,
                                       const std::vector<std::string>& roles,
                                       const TableState& state, policy::PolicyVersion version);

/// What governance says of a table, as it was read.
struct TablePolicies {
  policy::PolicyVersion version;
  /// Of the table then. Tags of a namespace reach the tables in it, and a move to another one
  /// raises no version.
  std::optional<model::NamespaceId> name_space = {};
  std::vector<Reach> reaches;
  /// Roles that are granted here to the principal, and to each who acts for it.
  std::vector<std::string> granted;
};

/// What masks mean to somebody for whom another one acts. An agent may be talked into leaving out
/// what its own engine should apply, so by default nothing is left to it.
enum class ActorMasks : std::uint8_t {
  kInFiles,   ///< Every policy is kept to files.
  kAsForAll,  ///< As the policies say.
};

/// One catalog's, on one event loop.
class Resolver {
 public:
  /// `pool` outlives it and its tasks.
  Resolver(base::pg::Pool& pool, const std::string& metadata_schema,
           ActorMasks actor_masks = ActorMasks::kInFiles)
      : pool_(&pool), sql_(metadata_schema), actor_masks_(actor_masks) {}

  /// What plan() has answered for that principal before, of the state with that key in that
  /// namespace, and at that version; nothing where it is not kept. Asks nobody: most reads end
  /// here.
  [[nodiscard]] std::optional<policy::ReadPlan> held(const auth::Principal& principal,
                                                     model::TableId table,
                                                     model::NamespaceId name_space,
                                                     std::string_view state,
                                                     policy::PolicyVersion version) const;
  /// How the principal may read that state. `version` is what the lake's version question has
  /// answered for this request, or nothing to ask anew.
  /// Errors: those of Pool; kCorrupt. With the reason kNoMaskInFiles, or without any.
  [[nodiscard]] base::Task<base::Result<policy::ReadPlan>> plan(
      base::RequestContext context, auth::Principal principal, TableState state,
      std::optional<policy::PolicyVersion> version);
  /// The roles of a principal: those of its token and those granted to it here, sorted.
  [[nodiscard]] static std::vector<std::string> roles_of(const auth::Principal& principal,
                                                         const TablePolicies& policies);
  /// Names of a lake schema's tables that any policy reaches, or of `table` alone, sorted; one
  /// more than `most` at most. Errors: those of Pool.
  [[nodiscard]] base::Task<base::Result<std::vector<std::string>>> governed_tables(
      base::RequestContext context, std::string schema, std::optional<std::string> table,
      std::size_t most) const;
  /// What governance says of a table now, without the cache, and of a principal with whoever acts
  /// for it: `names`, at least one.
  /// Errors: those of Pool; kCorrupt.
  [[nodiscard]] base::Task<base::Result<TablePolicies>> read(base::RequestContext context,
                                                             model::TableId table,
                                                             std::vector<std::string> names) const;

 private:
  /// Of a table and a principal with whoever acts for it.
  struct Kept {
    std::shared_ptr<const TablePolicies> policies;
    /// The last plan that was made of them, and of what.
    std::string state = {};
    std::vector<std::string> token_roles = {};
    std::optional<policy::ReadPlan> plan = std::nullopt;
  };
  using Key = std::pair<model::TableId, std::string>;  ///< The table and the names.
  [[nodiscard]] bool is_cooperative(const TableState& state,
                                    std::optional<policy::PolicyVersion> version) const;

  base::pg::Pool* pool_;
  ducklake::SchemaSql sql_;
  ActorMasks actor_masks_;
  policy::PolicyVersion version_;  ///< Of `kept_`.
  std::map<Key, Kept> kept_;
};

}  // namespace lake::governance
