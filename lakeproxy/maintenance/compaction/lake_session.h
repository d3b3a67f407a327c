#pragma once

// DuckDB's own functions look after a lake: they know how rows keep their ids
// and snapshots when files are written anew. This is an engine that is attached
// to one lake, with its own connections to PostgreSQL and the object store, and
// can reach nothing else: no local file but its scratch folder, no other place
// of the bucket, no extension that was not loaded at its start.
// Source: DuckLake 1.0 documentation, "Maintenance"; DuckDB 1.5, "Securing DuckDB".

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "lakeproxy/engine/files/scratch.h"

namespace base::duckdb {
class Connection;
class Engine;
}  // namespace base::duckdb

namespace lake::exporter {

enum class UrlStyle { kPath, kVirtualHost };

/// How the engine reaches what a lake stands on.
struct LakeAccess {
  std::string extensions;  ///< Folder with ducklake, httpfs and postgres_scanner.
  std::string pg_host, pg_port, pg_user, pg_database;  ///< An empty host: the local socket.
  base::Secret pg_password;
  std::string pg_tls_mode;   ///< libpq's sslmode.
  std::string pg_tls_roots;  ///< PEM file; libpq's default when empty.
  std::string s3_endpoint;   ///< "http://host:port" or "https://host[:port]".
  std::string s3_region, s3_key;
  base::Secret s3_secret;
  UrlStyle s3_style = UrlStyle::kPath;
  std::string s3_ca_file;
  std::uint64_t memory_bytes = 256 << 20;
  unsigned threads = 1;
  std::string scratch_dir;  ///< A folder of its own is made in it.
};

/// Which of the lakes.
struct LakePlace {
  std::string metadata_schema;
  std::string data_path;  ///< "s3://bucket/data/".
};

/// A table by its names in the lake.
struct LakeName {
  std::string schema;
  std::string table;
};

/// Files read, and files written in their place.
struct Rewritten {
  std::int64_t read = 0;
  std::int64_t written = 0;
};

/// The reason of a flush that is refused.
inline constexpr std::string_view kWouldLoseRows = "would_lose_rows";

/// One lake, attached. Used from one thread. Each function is one snapshot of
/// the lake, or none where there is nothing to do.
/// Errors everywhere: kConflict  a commit that was made meanwhile contradicts,
///         nothing was changed; kTimeout  the deadline, nothing was changed;
///         kTooLarge  over the engine's memory; kInternal.
class LakeSession {
 public:
  /// Takes some 100 ms.
  /// Errors: kInternal  an extension, PostgreSQL or the lake is not there.
  [[nodiscard]] static base::Result<std::unique_ptr<LakeSession>> open(
      const LakeAccess& access, const LakePlace& place,
      std::chrono::steady_clock::time_point deadline);
  ~LakeSession();
  LakeSession(const LakeSession&) = delete;
  LakeSession& operator=(const LakeSession&) = delete;

  /// Rows that PostgreSQL holds become files. Returns how many.
  /// Errors: kUnsupported, with the reason kWouldLoseRows  DuckDB would take other
  ///         rows for deleted than were (lakeproxy_may_flush).
  [[nodiscard]] base::Result<std::int64_t> flush(const LakeName& name);
  /// Writes files anew of which more rows are deleted than the lake's option
  /// rewrite_delete_threshold says.
  [[nodiscard]] base::Result<Rewritten> rewrite_deleted(const LakeName& name);
  /// Merges small files up to the lake's option target_file_size, into at most
  /// `most` files.
  [[nodiscard]] base::Result<Rewritten> merge(const LakeName& name, std::int64_t most);
  /// Removes the snapshots; files that only they show are scheduled for
  /// deletion. Returns how many there were.
  [[nodiscard]] base::Result<std::int64_t> expire(const std::vector<std::int64_t>& snapshots);

 private:
  struct Connections {
    std::unique_ptr<base::duckdb::Connection> working, asking;
  };

  LakeSession(std::string metadata_schema, ScratchFolder scratch,
              std::unique_ptr<base::duckdb::Engine> engine, Connections connections);
  base::Result<Rewritten> ask(const std::string& sql);
  base::Result<Rewritten> in_transaction(const std::function<base::Result<Rewritten>()>& work);
  base::Result<Rewritten> run(const std::string& sql);
  base::Status check_flush(const LakeName& name);

  std::string metadata_schema_;
  ScratchFolder scratch_;
  std::unique_ptr<base::duckdb::Engine> engine_;
  std::unique_ptr<base::duckdb::Connection> connection_;
  std::unique_ptr<base::duckdb::Connection> asking_;
};

}  // namespace lake::exporter
