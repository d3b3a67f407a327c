#pragma once

// Columnar files are read and written by DuckDB, inside this process. It is
// built to read anything from anywhere; here it gets a fixed amount of memory
// and one folder, and nothing that it is asked can change that: no other file,
// no network, no extension, no setting.
// Source: DuckDB 1.5 documentation, "Securing DuckDB".

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/duckdb/connection.h"

namespace base::duckdb {

/// Whether statements may reach files at all places, or in one folder alone.
enum class ExternalAccess : std::uint8_t { kClosed, kOpen };

struct EngineOptions {
  std::uint64_t memory_bytes = 256 << 20;  ///< All connections together.
  /// With 1 each statement runs on the thread that asked for it, and what it
  /// writes depends on its input alone.
  unsigned threads = 1;
  /// An existing folder for the engine's own temporary files and for those
  /// that statements read and write; absolute. Empty for an engine that writes
  /// no temporary files: it fails as kTooLarge where memory ends.
  std::string scratch_dir;
  std::uint64_t scratch_bytes = 4ULL << 30;  ///< Of temporary files; 0 with no folder at all.
  /// The one folder that statements reach when there is no scratch folder;
  /// absolute. Empty for none. Both cannot be given: the engine lets statements
  /// read whatever folder its temporary files are in.
  std::string data_dir;
  ExternalAccess external_access = ExternalAccess::kClosed;
  /// Files of extensions, absolute; they are loaded before the engine is locked down.
  std::vector<std::string> extensions = {};
  /// Run after them and before the engine is locked down: what makes secrets and attaches.
  /// When one fails, only the first line of the engine's words is kept, since
  /// the rest repeats the statement.
  std::vector<Secret> opening = {};
  /// Places besides the folder that statements reach: "s3://bucket/prefix/".
  std::vector<std::string> allowed_places = {};
};

/// One database in memory, empty. Safe to call from any thread.
class Engine {
 public:
  /// Takes about 30 ms.
  /// Errors: kInvalid  an option breaks its rule; kInternal  the engine does
  ///         not start; of an opening statement, its own.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> open(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// A connection of its own, with its own temporary tables. Connections may
  /// outlive the engine. After a failure that ended the database (a defect of
  /// the engine) the next connection goes to a new one.
  /// Errors: kInternal  the engine does not start again.
  [[nodiscard]] Result<Connection> connect();

  /// How often the database began anew, and empty. Read after connect().
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  [[nodiscard]] const std::string& scratch_dir() const { return options_.scratch_dir; }

 private:
  Engine(EngineOptions options, std::shared_ptr<Database> database);

  const EngineOptions options_;
  std::mutex mutex_;
  std::shared_ptr<Database> database_;  // Guarded by mutex_.
  std::atomic<std::uint64_t> restarts_ = 0;
};

}  // namespace base::duckdb
