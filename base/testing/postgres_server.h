#pragma once

// A private PostgreSQL 15 for tests: made once per test binary (about two
// seconds), gone with it. Tests keep apart by each using a database, or a
// schema, of its own.

#include <cstdint>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/testing/child_process.h"

namespace base::testing {

/// Listens on 127.0.0.1 and on a Unix socket in a folder of its own; trusts
/// everyone; writes nothing to disk in time (fsync is off). Used from one
/// thread, which outlives it.
class PostgresServer {
 public:
  /// The binary's server: made and started by the first call, stopped when the
  /// binary ends. Aborts, with the reason on stderr, when that fails.
  [[nodiscard]] static PostgresServer& shared();

  /// Makes a new cluster and starts it. Errors: kUnavailable, kTimeout  the
  /// programs are missing (/usr/lib/postgresql/15/bin) or fail; see detail.
  [[nodiscard]] static Result<std::unique_ptr<PostgresServer>> make();

  [[nodiscard]] std::string host() const { return "127.0.0.1"; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Names the Unix socket, in the place of host().
  [[nodiscard]] const std::string& socket_folder() const { return folder_.path(); }
  [[nodiscard]] std::string user() const { return "app"; }
  /// A database that exists.
  [[nodiscard]] std::string database() const { return "postgres"; }
  /// Makes a new, empty database and returns its name. Aborts on failure.
  [[nodiscard]] std::string make_database();

  /// Starts it after stop() or kill(), on the same port. Errors: as make().
  [[nodiscard]] Status start();
  /// Ends all sessions and shuts down ("fast").
  void stop();
  /// SIGKILL to the server; its sessions end as soon as they notice.
  void kill();

 private:
  PostgresServer() = default;
  [[nodiscard]] Status make_cluster();
  [[nodiscard]] Result<int> run_tool(const std::string& name, std::vector<std::string> arguments);
  [[nodiscard]] bool is_ready();

  TemporaryFolder folder_;
  std::optional<Account> account_;
  std::uint16_t port_ = 0;
  std::optional<ChildProcess> server_;
  int databases_ = 0;
};

}  // namespace base::testing
