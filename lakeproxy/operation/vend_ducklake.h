#pragma once

// What DuckDB needs to read the lake itself: a login of PostgreSQL and the statement that attaches
// the lake with it.
// Source: specification, sections 4 (ducklake-credentials) and 5.10.

#include <optional>
#include <string>

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
};

struct VendDuckLake {
  model::Namespace name_space;
  std::optional<std::string> table;  ///< Nothing: all of them.
};
[[nodiscard]] inline policy::Targets targets(const VendDuckLake& request) {
  return {request.table ? policy::Target::table(request.name_space, *request.table)
                        : policy::Target::of(request.name_space)};
}

struct DuckLakeAccess {
  std::string role;
  std::optional<std::string> valid_until;  ///< RFC 3339; nothing: the owner's, which does not end.
  base::Secret dsn;
  std::string data_path;
  base::Secret attach_sql;
  ducklake::ReaderFolders folders;  ///< For keys to the store.
};

/// A login that sees what the caller's token reads, in every namespace of the catalog. `direct`
/// outlives the task. Errors: kNotFound  no such namespace or table; those of ReaderLogins::make.
[[nodiscard]] base::Task<base::Result<DuckLakeAccess>> vend_ducklake(
    base::RequestContext context, Catalog* catalog, const DirectReading* direct,
    policy::Authorized<VendDuckLake> request);

}  // namespace lake::operation
