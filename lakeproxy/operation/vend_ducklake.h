#pragma once

// What DuckDB needs to read the lake itself: a login of PostgreSQL and the statement that attaches
// the lake with it.
// Source: specification, sections 4 (ducklake-credentials) and 5.10.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/secret.h"
#include "lakeproxy/ducklake/readers/reader_logins.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

/// How DuckDB reaches the lake's PostgreSQL. Of one event loop.
struct DirectReading {
  /// Null: everybody gets the owner's login (LAKEPROXY_RLS=0).
  ducklake::ReaderLogins* logins = nullptr;
  std::string server;  ///< Of the DSN: "host=... port=... dbname=...".
  std::string owner;
  base::Secret owner_password;
  bool transparent_masking = true;  ///< Names without a schema mean masking views.
};

struct VendDuckLake {
  model::Namespace name_space;
  std::optional<std::string> table;  ///< Nothing: all of them.
};
[[nodiscard]] inline policy::Targets targets(const VendDuckLake& request) {
  return {request.table ? policy::Target::table(request.name_space, *request.table)
                        : policy::Target::of(request.name_space)};
}

/// What is left to the caller's engine of the one table that was asked for.
struct LakeMask {
  std::string view;  ///< Its name; empty where the table has no masking views.
  std::shared_ptr<const policy::MaskPlan> plan;
  std::string projection;  ///< SQL of DuckDB.
};

struct DuckLakeAccess {
  std::string role;
  std::optional<base::WallTime> valid_until;  ///< Nothing: the owner's, which does not end.
  base::Secret dsn;
  std::string data_path;
  base::Secret attach_sql;
  ducklake::ReaderFolders folders;  ///< For keys to the store.
  /// Statements for behind the attaching one: masking views, and a search path to them.
  std::vector<std::string> post_attach_sql;
  bool is_transparent = false;             ///< The search path is among them.
  std::optional<LakeMask> mask;            ///< Of the table that was asked for.
  std::vector<std::string> masked_tables;  ///< That have a view among them.
  /// Tables that are shown unmasked since nobody could tell their policies, and why.
  std::map<std::string, std::string> failed_open;
};

/// A login that sees what the caller's token reads, in every namespace of the catalog. `direct`
/// outlives the task. Errors: kNotFound  no such namespace or table; kTooLarge  too many tables
///         are masked, ask for one; those of ReaderLogins::make and see_lake_table().
[[nodiscard]] base::Task<base::Result<DuckLakeAccess>> vend_ducklake(
    base::RequestContext context, Catalog* catalog, const DirectReading* direct,
    policy::Authorized<VendDuckLake> request);

}  // namespace lake::operation
