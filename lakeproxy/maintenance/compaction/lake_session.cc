#include "lakeproxy/maintenance/compaction/lake_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/duckdb/connection.h"
#include "base/duckdb/engine.h"
#include "base/duckdb/sql_text.h"

namespace lake::exporter {
namespace {

using base::duckdb::quote_literal;

// A value in a connection string of libpq.
std::string quote_for_libpq(std::string_view value) {
  std::string quoted = "'";
  for (char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '\'';
}

void add_option(std::string& sql, std::string_view name, std::string_view value) {
  if (!value.empty()) sql += fmt::format(", {} {}", name, quote_literal(value));
}

// Passwords go as secrets: connection strings are repeated in messages.
std::string postgres_secret(const LakeAccess& access) {
  std::string sql = "CREATE SECRET lake_postgres (TYPE postgres";
  add_option(sql, "HOST", access.pg_host);
  add_option(sql, "PORT", access.pg_port);
  add_option(sql, "DATABASE", access.pg_database);
  add_option(sql, "USER", access.pg_user);
  add_option(sql, "PASSWORD", access.pg_password.reveal());
  return sql + ")";
}

std::string store_secret(const LakeAccess& access, const LakePlace& place) {
  std::string_view host = access.s3_endpoint;
  bool tls = host.starts_with("https://");
  host.remove_prefix(host.find("://") + 3);
  std::string sql = "CREATE SECRET lake_store (TYPE s3";
  add_option(sql, "KEY_ID", access.s3_key);
  add_option(sql, "SECRET", access.s3_secret.reveal());
  add_option(sql, "REGION", access.s3_region);
  add_option(sql, "ENDPOINT", host);
  add_option(sql, "URL_STYLE", access.s3_style == UrlStyle::kPath ? "path" : "vhost");
  add_option(sql, "SCOPE", place.data_path);
  return sql + fmt::format(", USE_SSL {})", tls);
}

std::string lake_secret(const LakeAccess& access, const LakePlace& place) {
  std::string path = "application_name=lakeproxy-compaction";
  if (access.pg_host.contains(',')) path += " target_session_attrs=read-write";
  if (!access.pg_tls_mode.empty()) path += " sslmode=" + quote_for_libpq(access.pg_tls_mode);
  if (!access.pg_tls_roots.empty()) path += " sslrootcert=" + quote_for_libpq(access.pg_tls_roots);
  return fmt::format(
      "CREATE SECRET lake_catalog (TYPE ducklake, METADATA_PATH {}, DATA_PATH {}, METADATA_SCHEMA "
      "{}, METADATA_PARAMETERS MAP {{'TYPE': 'postgres', 'SECRET': 'lake_postgres'}})",
      quote_literal(path), quote_literal(place.data_path), quote_literal(place.metadata_schema));
}

base::duckdb::EngineOptions engine_options(const LakeAccess& access, const LakePlace& place,
                                           std::string folder) {
  base::duckdb::EngineOptions options;
  options.memory_bytes = access.memory_bytes;
  options.threads = access.threads;
  options.scratch_dir = std::move(folder);
  for (const char* name : {"httpfs", "postgres_scanner", "ducklake"}) {
    options.extensions.push_back((std::filesystem::path(access.extensions) / name).string() +
                                 ".duckdb_extension");
  }
  if (!access.s3_ca_file.empty()) {
    options.opening.emplace_back("SET GLOBAL ca_cert_file = " + quote_literal(access.s3_ca_file));
  }
  options.opening.emplace_back(postgres_secret(access));
  options.opening.emplace_back(store_secret(access, place));
  options.opening.emplace_back(lake_secret(access, place));
  options.opening.emplace_back(
      "ATTACH 'ducklake:lake_catalog' AS lake (CREATE_IF_NOT_EXISTS false)");
  options.allowed_places = {place.data_path};
  return options;
}

}  // namespace

LakeSession::LakeSession(std::string metadata_schema, ScratchFolder scratch,
                         std::unique_ptr<base::duckdb::Engine> engine, Connections connections)
    : metadata_schema_(std::move(metadata_schema)),
      scratch_(std::move(scratch)),
      engine_(std::move(engine)),
      connection_(std::move(connections.working)),
      asking_(std::move(connections.asking)) {}

LakeSession::~LakeSession() = default;

base::Result<std::unique_ptr<LakeSession>> LakeSession::open(
    const LakeAccess& access, const LakePlace& place,
    std::chrono::steady_clock::time_point deadline) {
  ASSIGN_OR_RETURN(auto scratch, ScratchFolder::make(access.scratch_dir));
  ASSIGN_OR_RETURN(auto engine,
                   base::duckdb::Engine::open(engine_options(access, place, scratch.path())));
  auto connect = [&]() -> base::Result<std::unique_ptr<base::duckdb::Connection>> {
    ASSIGN_OR_RETURN(auto connection, engine->connect());
    connection.set_deadline(deadline);
    return std::make_unique<base::duckdb::Connection>(std::move(connection));
  };
  Connections connections;
  ASSIGN_OR_RETURN(connections.working, connect());
  ASSIGN_OR_RETURN(connections.asking, connect());
  return std::unique_ptr<LakeSession>(new LakeSession(place.metadata_schema, std::move(scratch),
                                                      std::move(engine), std::move(connections)));
}

base::Result<Rewritten> LakeSession::ask(const std::string& sql) {
  ASSIGN_OR_RETURN(auto rows, connection_->execute(sql));
  ASSIGN_OR_RETURN(bool found, rows.next());
  if (!found) return Rewritten{};
  return Rewritten{rows.int64(0), rows.int64(1)};
}

// Asked behind the base version of the flush: what was deleted before is seen
// here, and who deletes later collides with the flush. A connection of its own lets go
// of its locks at once, where the flush drops tables.
base::Status LakeSession::check_flush(const LakeName& name) {
  RETURN_IF_ERROR(connection_->execute("FROM lake.current_snapshot()"));
  const std::string asked = fmt::format("SELECT {}.lakeproxy_may_flush({}, {})",
                                        base::duckdb::quote_identifier(metadata_schema_),
                                        quote_literal(name.schema), quote_literal(name.table));
  ASSIGN_OR_RETURN(auto rows,
                   asking_->execute(fmt::format("SELECT CAST(may AS BIGINT) FROM postgres_query("
                                                "'__ducklake_metadata_lake', {}) AS answer(may)",
                                                quote_literal(asked))));
  ASSIGN_OR_RETURN(bool found, rows.next());
  if (found && rows.int64(0) == 1) return {};
  return base::fail(base::ErrorKind::kUnsupported, "DuckDB would take other rows for deleted")
      .with_reason(kWouldLoseRows);
}

// DuckLake binds a statement to the transaction in which it is prepared, so
// that must be the one in which it runs.
base::Result<Rewritten> LakeSession::in_transaction(
    const std::function<base::Result<Rewritten>()>& work) {
  RETURN_IF_ERROR(connection_->execute("BEGIN TRANSACTION"));
  auto done = work();
  if (!done) {
    // The error ended the transaction, or this does; it has nothing to tell.
    static_cast<void>(connection_->execute("ROLLBACK"));
    return done;
  }
  RETURN_IF_ERROR(connection_->execute("COMMIT"));
  return done;
}

base::Result<Rewritten> LakeSession::run(const std::string& sql) {
  return in_transaction([&] { return ask(sql); });
}

base::Result<std::int64_t> LakeSession::flush(const LakeName& name) {
  const std::string sql = fmt::format(
      "SELECT coalesce(sum(rows_flushed), 0)::BIGINT, 0::BIGINT FROM "
      "ducklake_flush_inlined_data('lake', schema_name => {}, table_name => {})",
      quote_literal(name.schema), quote_literal(name.table));
  ASSIGN_OR_RETURN(auto done, in_transaction([&]() -> base::Result<Rewritten> {
                     RETURN_IF_ERROR(check_flush(name));
                     return ask(sql);
                   }));
  return done.read;
}

base::Result<Rewritten> LakeSession::rewrite_deleted(const LakeName& name) {
  return run(
      fmt::format("SELECT coalesce(sum(files_processed), 0)::BIGINT, "
                  "coalesce(sum(files_created), 0)::BIGINT FROM "
                  "ducklake_rewrite_data_files('lake', {}, schema => {})",
                  quote_literal(name.table), quote_literal(name.schema)));
}

base::Result<Rewritten> LakeSession::merge(const LakeName& name, std::int64_t most) {
  return run(
      fmt::format("SELECT coalesce(sum(files_processed), 0)::BIGINT, "
                  "coalesce(sum(files_created), 0)::BIGINT FROM "
                  "ducklake_merge_adjacent_files('lake', {}, schema => {}, max_compacted_files => "
                  "{})",
                  quote_literal(name.table), quote_literal(name.schema), most));
}

base::Result<std::int64_t> LakeSession::expire(const std::vector<std::int64_t>& snapshots) {
  if (snapshots.empty()) return 0;
  ASSIGN_OR_RETURN(auto done,
                   run(fmt::format("SELECT count(*), 0::BIGINT FROM ducklake_expire_snapshots("
                                   "'lake', versions => [{}])",
                                   fmt::join(snapshots, ", "))));
  return done.read;
}

}  // namespace lake::exporter
