#pragma once

// What an administrator asks of a lake's format: what it is and whether it is whole, and its
// migration to DuckLake 1.1. There is no way back from that, and DuckDB before 2.0 cannot attach
// the lake any more; a session that it has open goes on writing in the old form. So nothing here
// happens by itself, and not while somebody else is in the database.

#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/lake/open_lake.h"

namespace lake::ducklake {

struct LakeInspection {
  std::string version;                      ///< As the lake says.
  std::optional<model::LakeFormat> format;  ///< Nothing: not understood.
  std::vector<std::string> problems;        ///< A sentence each, for people.
  std::vector<std::string> sessions;        ///< Other sessions in the database, one line each.
};

/// Changes nothing, and needs nothing that a server of ours has made.
/// Errors: kNotFound  no lake in the schema; kUnavailable.
[[nodiscard]] base::Task<base::Result<LakeInspection>> inspect_lake(base::RequestContext context,
                                                                    base::pg::Pool& pool,
                                                                    LakeOptions options);

/// The versions of DuckDB that attach a lake of the format.
[[nodiscard]] std::string_view clients_of(model::LakeFormat format);

/// Makes a lake of 0.4 or 1.0 one of 1.1, in one transaction.
/// Errors: kNotFound  no lake; kUnsupported  a version that is not understood; kAlreadyExists
///         it is one of 1.1; kConflict  other sessions are in the database, or something of the
///         lake is in the way (names it); kUnavailable, kOutcomeUnknown.
[[nodiscard]] base::Task<base::Result<void>> migrate_lake(base::RequestContext context,
                                                          base::pg::Pool& pool,
                                                          LakeOptions options);

/// Makes an empty lake of `options.new_format`. Errors: those of open_lake(), and kAlreadyExists
/// there is one in the schema.
[[nodiscard]] base::Task<base::Result<void>> create_lake(base::RequestContext context,
                                                         base::pg::Pool& pool, LakeOptions options);

}  // namespace lake::ducklake
