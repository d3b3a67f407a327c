#pragma once

// What main() calls, one function for each subcommand.

#include <string>

#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/engine/files/engine_pool.h"
#include "lakeproxy/maintenance/compaction/compactor.h"
#include "lakeproxy/settings/settings.h"

namespace lake::app {

/// Each may be null; they outlive the server.
struct StepWatches {
  const ducklake::StepWatch* commits = nullptr;
  const exporter::CompactionWatch* compactions = nullptr;
  const exporter::EngineWatch* engine_jobs = nullptr;
};

/// Serves until SIGINT or SIGTERM, then finishes what is in flight. Returns the
/// process's exit code; start-up faults are one line on stderr each. `watches`
/// are told how far each commit and compaction has come, and of each job of the engine; only a
/// test has any use for that.
[[nodiscard]] int serve(const settings::Settings& settings, StepWatches watches = {});

/// Tries each connection that the settings name and says in one line how it
/// went. Returns the process's exit code.
[[nodiscard]] int check(const settings::Settings& settings);

/// What is asked of the default catalog's lake itself.
struct LakeCommand {
  std::string format;      ///< "1.0" or "1.1": of a new lake, or that it shall have.
  bool confirmed = false;  ///< Of a migration: that there is no way back.
};

/// Each returns the process's exit code: 0 done; 1 something failed, or there are problems;
/// 2 an option is wrong.
[[nodiscard]] int create_lake(const settings::Settings& settings, const LakeCommand& command);
[[nodiscard]] int check_lake(const settings::Settings& settings);
[[nodiscard]] int migrate_lake(const settings::Settings& settings, const LakeCommand& command);

enum class PolicyWork { kShow, kApply };
/// Writes the bucket policy that cuts confined static keys to the scopes of their clients to
/// stdout, and to the bucket when asked to; statements of others stay. Returns the process's exit
/// code: 0 done; 1 something failed.
[[nodiscard]] int bucket_policy(const settings::Settings& settings, PolicyWork what);

struct InitOptions {
  std::string folder = ".";
  std::string client = "admin";  ///< The administrator's id.
};

/// Makes the first administrator: clients.json with the hash of a new secret, which is printed
/// once, and settings in .env, both in the folder and for this user alone. Nothing that is there is
/// changed but for lines that are added to .env. Returns the process's exit code.
[[nodiscard]] int init(const InitOptions& options);

struct AuditCommand {
  std::string catalog;  ///< Empty for the default one.
  std::string noted;    ///< What an earlier check has printed as the newest line; or empty.
};

/// Checks the hashes of the audit trail and names the first line that is wrong.
/// Returns the process's exit code: 0 it is whole; 1 it is not, or cannot be read; 2 an option is
/// wrong.
[[nodiscard]] int verify_audit(const settings::Settings& settings, const AuditCommand& command);

enum class GcWork {
  kShow,
  kRemove,
  kTakeOver,  ///< Only makes this database the owner of the prefix.
};

struct GcOptions {
  GcWork work = GcWork::kShow;
  bool json = false;
  std::string older_than;  ///< Seconds, or a number with s, m, h or d.
  std::string catalog;     ///< Empty for the default one.
};

/// Finds what is left in the bucket and nothing needs, and removes it when asked to.
/// Returns the process's exit code: 0 done; 1 something failed or could not be
/// removed; 2 an option is wrong.
[[nodiscard]] int gc(const settings::Settings& settings, const GcOptions& options);

}  // namespace lake::app
