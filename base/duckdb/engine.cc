#include "base/duckdb/engine.h"

#include <duckdb.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/duckdb/database.h"
#include "base/duckdb/errors.h"
#include "base/duckdb/sql_text.h"

namespace base::duckdb {
namespace {

Status check_folder(std::string_view what, const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.is_absolute() && std::filesystem::is_directory(folder, error)) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("the engine's {} folder must be an absolute path that exists", what));
}

Status check(const EngineOptions& options) {
  constexpr std::uint64_t kLeastMemory = 16 << 20;
  if (options.memory_bytes < kLeastMemory) {
    return fail(ErrorKind::kInvalid, "the engine's memory must be at least 16 MiB");
  }
  if (options.threads < 1 || options.threads > 256) {
    return fail(ErrorKind::kInvalid, "the engine's threads must be 1 to 256");
  }
  if (!options.scratch_dir.empty() && !options.data_dir.empty()) {
    return fail(ErrorKind::kInvalid, "the engine takes a scratch folder or a data folder");
  }
  if (!options.data_dir.empty()) return check_folder("data", options.data_dir);
  // Without any folder there must be a reason: no files at all.
  if (options.scratch_dir.empty() && options.scratch_bytes == 0) return {};
  return check_folder("scratch", options.scratch_dir);
}

Result<std::shared_ptr<Database>> open_handle(const EngineOptions& options) {
  duckdb_config config = nullptr;
  if (duckdb_create_config(&config) == DuckDBError) {
    return fail(ErrorKind::kInternal, "the engine does not start");
  }
  const std::array<std::pair<const char*, std::string>, 7> settings{{
      {"memory_limit", fmt::format("{}B", options.memory_bytes)},
      {"threads", fmt::format("{}", options.threads)},
      {"temp_directory", options.scratch_dir},
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"allow_community_extensions", "false"},
      {"allow_persistent_secrets", "false"},
  }};
  for (const auto& [name, value] : settings) {
    if (duckdb_set_config(config, name, value.c_str()) == DuckDBError) {
      duckdb_destroy_config(&config);
      return fail(ErrorKind::kInternal, fmt::format("the engine does not know setting {}", name));
    }
  }
  duckdb_database handle = nullptr;
  char* reason = nullptr;
  duckdb_state state = duckdb_open_ext(nullptr, &handle, config, &reason);
  duckdb_destroy_config(&config);
  std::string detail = reason == nullptr ? "" : reason;
  duckdb_free(reason);
  if (state == DuckDBError) {
    return fail(ErrorKind::kInternal, "the engine does not start").with_detail(std::move(detail));
  }
  return std::make_shared<Database>(handle);
}

// Nothing of what they hold may reach a log.
Status run_opening(const EngineOptions& options, Connection& connection) {
  for (const std::string& extension : options.extensions) {
    RETURN_IF_ERROR(connection.execute(fmt::format("LOAD {}", quote_literal(extension))));
  }
  for (const Secret& statement : options.opening) {
    auto done = connection.execute(statement.reveal());
    if (done) continue;
    std::string detail(done.error().detail());
    detail.resize(std::min(detail.size(), detail.find('\n')));
    return fail(done.error().kind(), "the engine does not start").with_detail(std::move(detail));
  }
  return {};
}

std::string allowed_places(const EngineOptions& options) {
  std::vector<std::string> places;
  const std::string& folder = options.data_dir.empty() ? options.scratch_dir : options.data_dir;
  if (!folder.empty()) places.push_back(quote_literal(folder));
  for (const std::string& place : options.allowed_places) places.push_back(quote_literal(place));
  return fmt::format("[{}]", fmt::join(places, ", "));
}

// The folder must be allowed before files are forbidden, and the lock comes
// last: after it none of these statements would pass.
Status close_doors(const EngineOptions& options, const std::shared_ptr<Database>& database) {
  ASSIGN_OR_RETURN(Connection connection, Connection::open(database));
  RETURN_IF_ERROR(run_opening(options, connection));
  std::vector<std::string> statements;
  if (!options.scratch_dir.empty()) {
    // As an option of opening it would be listed and not enforced.
    statements.push_back(
        fmt::format("SET GLOBAL max_temp_directory_size = '{}B'", options.scratch_bytes));
  }
  statements.push_back("SET GLOBAL TimeZone = 'UTC'");
  if (options.external_access == ExternalAccess::kClosed) {
    statements.push_back("SET GLOBAL allowed_directories = " + allowed_places(options));
    statements.push_back("SET GLOBAL enable_external_access = false");
  }
  statements.push_back("SET GLOBAL lock_configuration = true");
  for (const auto& statement : statements) RETURN_IF_ERROR(connection.execute(statement));
  return {};
}

Result<std::shared_ptr<Database>> open_database(const EngineOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<Database> database, open_handle(options));
  if (Status closed = close_doors(options, database); !closed) {
    return fail(closed.error().kind(), "the engine does not start")
        .with_detail(closed.error().detail());
  }
  return database;
}

}  // namespace

Engine::Engine(EngineOptions options, std::shared_ptr<Database> database)
    : options_(std::move(options)), database_(std::move(database)) {}

Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::open(EngineOptions options) {
  RETURN_IF_ERROR(check(options));
  ASSIGN_OR_RETURN(std::shared_ptr<Database> database, open_database(options));
  return std::unique_ptr<Engine>(new Engine(std::move(options), std::move(database)));
}

Result<Connection> Engine::connect() {
  std::lock_guard lock(mutex_);
  if (database_->ended()) {
    ASSIGN_OR_RETURN(database_, open_database(options_));
    ++restarts_;
  }
  return Connection::open(database_);
}

}  // namespace base::duckdb
