#pragma once

// Logins of PostgreSQL with which DuckDB reads a lake itself, past this server. A login is made
// for one principal and one request, ends by itself, and sees the rows of DuckLake's tables that
// the principal may see: db/8_readers.sql decides. The password is made here, and PostgreSQL gets
// what SCRAM stores of it.
// Source: specification, section 5.10.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/model/identifier.h"

namespace lake::ducklake {

/// For whom a login is made, and what it reads.
struct Reader {
  std::string subject;
  std::string issuer;
  bool is_administrator = false;
  std::optional<std::vector<model::Namespace>> namespaces;  ///< Nothing: all.
  std::vector<std::string> roles;
};

struct ReaderLogin {
  std::string role;
  base::Secret password;
  std::optional<base::WallTime> valid_until = {};  ///< A whole second; nothing: it does not end.
};

/// "lakeproxy_p_<sub>_<sha8>_<nonce>": of the subject what letters, digits and '_' of ASCII say of
/// it, cut where the whole would be longer than a name of PostgreSQL (63 bytes); the beginning of
/// its SHA-256, with the issuer's, in hexadecimal; and 12 hexadecimal digits of chance.
[[nodiscard]] std::string reader_role_name(std::string_view subject, std::string_view issuer,
                                           base::Random& random);

/// The role that holds the rights of a lake's readers: the setting's for the default catalog, and
/// one for each other schema, so that no catalog's reader reaches another catalog.
[[nodiscard]] std::string reader_group_of(const std::string& setting, const std::string& schema);

/// What keys to the store are cut by, as locations of folders ("s3://bucket/a/").
struct ReaderFolders {
  std::vector<std::string> tables;  ///< None where they are too many to be named.
  std::string name_space;           ///< Holds them, as a rule; empty where one table is asked for.
  std::vector<std::string> closed;  ///< Of the folders in that, those of others.
};

struct ReaderOptions {
  std::string group_role;  ///< A name of PostgreSQL, at most 40 bytes.
  std::chrono::seconds life{3600};
};

/// One event loop's access; `pool` and `random` outlive it.
class ReaderLogins {
 public:
  ReaderLogins(base::pg::Pool& pool, base::Random& random, ReaderOptions options);

  /// Makes a login for the lake in that schema, and gives readers their rights in it where they
  /// have none yet.
  /// Errors: kUnsupported  this server's role cannot make logins, or the group has rights that it
  ///         must not have (detail); kRateLimited  100 logins of this principal live;
  ///         kUnavailable, kTimeout  PostgreSQL, or writers that were in the way too long;
  ///         kOutcomeUnknown  it may have been made: it ends by itself.
  [[nodiscard]] base::Task<base::Result<ReaderLogin>> make(base::RequestContext context,
                                                           std::string schema, Reader reader);
  /// Ends a login when the keys end that are told with it; a later time than its own changes
  /// nothing. Errors: kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Status> end_at(base::RequestContext context, std::string schema,
                                                std::string role, base::WallTime end);
  /// The folders of one namespace, or of one table in it, that the login reads.
  /// Errors: kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<ReaderFolders>> folders(base::RequestContext context,
                                                                std::string schema,
                                                                std::string role,
                                                                model::Namespace name_space,
                                                                std::optional<std::string> table);
  /// Ends sessions of logins whose time is over and drops these, of all lakes; `schema` is that of
  /// any. Answers how many could not be dropped. Errors: kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<std::int64_t>> collect(base::RequestContext context,
                                                               std::string schema);
  /// Whether this server's role has the attribute that making logins needs.
  /// Errors: kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<bool>> can_make(base::RequestContext context);

 private:
  [[nodiscard]] base::Task<base::Result<ReaderLogin>> make_once(base::RequestContext context,
                                                                std::string schema, Reader reader);

  base::pg::Pool* pool_;
  base::Random* random_;
  ReaderOptions options_;
};

}  // namespace lake::ducklake
