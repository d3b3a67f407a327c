#pragma once

// The half of the SQL tools that runs in the engine's process: each function
// runs one call to its end on the thread that it is called from.

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/duckdb/engine.h"
#include "toolserver/connectors/sql/brought_deletes.h"
#include "toolserver/connectors/sql/brought_tables.h"
#include "toolserver/connectors/sql/raw_files.h"
#include "toolserver/connectors/sql/sql_call.h"
#include "toolserver/connectors/sql/sql_names.h"
#include "toolserver/connectors/sql/sql_options.h"
#include "toolserver/connectors/sql/sql_screen.h"
#include "toolserver/connectors/sql/sql_tables.h"
#include "toolserver/model/invocation.h"

namespace tool::connectors {

enum class ResultFormat : std::uint8_t { kJson, kArrow };
/// In a dry run all checks are done, and nothing else.
enum class Run : std::uint8_t { kReal, kDry };
enum class Existing : std::uint8_t { kKeep, kReplace };

struct QueryRequest {
  std::string sql;
  base::json::Array params;  ///< null, booleans, numbers, texts.
  std::size_t rows = 0;      ///< At most.
  ResultFormat format = ResultFormat::kJson;
  Run run = Run::kReal;
};

struct LoadRequest {
  DataFile file;
  TableName table;
  Existing existing = Existing::kKeep;
  Run run = Run::kReal;
};

struct UnloadRequest {
  TableName table;
  Run run = Run::kReal;
};

/// Safe to use from several threads at once.
class SqlWork {
 public:
  /// Errors: kInvalid  an option; kInternal  the engine does not start.
  [[nodiscard]] static base::Result<std::unique_ptr<SqlWork>> open(SqlOptions options);

  /// One SELECT, screened. Bad SQL is an answer with is_error.
  /// Errors: E_POLICY, E_SHAPE, E_LIMIT, E_TIMEOUT, E_CANCELLED, E_INTERNAL.
  [[nodiscard]] Outcome<ToolResult> query(const QueryRequest& request, SqlCall& call);

  /// Whether a SELECT reads these tables, in lower case, and no others; whether there
  /// are such does not matter, so that the answer tells nothing of the rest.
  /// Errors: E_POLICY  it reads others, or the screen does not let it through, or
  ///         cannot be read; else as query().
  [[nodiscard]] Outcome<void> keeps_to_tables(const std::string& sql,
                                              const std::vector<std::string>& tables,
                                              SqlCall& call);

  /// Makes a table of a regular file. A missing or broken file, another kind of
  /// file, and a name that is taken, are answers with is_error.
  /// Errors: as query(); E_BUSY  another load is under way.
  [[nodiscard]] Outcome<ToolResult> load(const LoadRequest& request, SqlCall& call);

  /// Drops a table and gives its memory back. A name that no table has is an
  /// answer with is_error. Errors: as load().
  [[nodiscard]] Outcome<ToolResult> unload(const UnloadRequest& request, SqlCall& call);

  /// The tables that the statement names, screened but for them, and what it needs of them:
  /// {"tables": [{"namespace": ..., "table": ...}]}, and the members of add_to(). Errors: as
  /// query().
  [[nodiscard]] Outcome<ToolResult> name_tables(const std::string& sql,
                                                const base::json::Array& params, SqlCall& call);
  /// Which parts of each file are to be there before bring_tables(), of files whose end is there:
  /// {"files": [{"file": ..., "parts": [begin, end, begin, end...]}]}. Errors: as query().
  [[nodiscard]] Outcome<ToolResult> find_parts(const std::vector<BroughtTable>& tables,
                                               SqlCall& call);
  /// Makes a view of each; statements may name them from then on. Two whose names differ in case
  /// alone, and one that cannot be read, are answers with is_error. Errors: as query().
  [[nodiscard]] Outcome<ToolResult> bring_tables(const std::vector<BroughtTable>& tables,
                                                 SqlCall& call);

  [[nodiscard]] ToolResult list_tables();
  [[nodiscard]] ToolResult describe(std::string_view table);

  [[nodiscard]] const SqlOptions& options() const { return options_; }

 private:
  SqlWork(SqlOptions options, std::unique_ptr<base::duckdb::Engine> engine)
      : options_(std::move(options)), engine_(std::move(engine)) {}

  [[nodiscard]] base::Status make_view(const BroughtTable& table,
                                       base::duckdb::Connection& connection);
  [[nodiscard]] ScreenRules rules() const;
  using Connected = base::Result<base::duckdb::Connection>;
  [[nodiscard]] Connected connect(const SqlCall& call);
  [[nodiscard]] Outcome<void> check_text(const std::string& sql) const;
  [[nodiscard]] Outcome<base::json::Value> parse_sql(const std::string& sql, SqlCall& call);
  [[nodiscard]] Outcome<AnchoredSql> anchored(const std::string& sql, base::json::Value tree,
                                              SqlCall& call);
  [[nodiscard]] Outcome<ToolResult> run(const QueryRequest& request, const std::string& sql,
                                        SqlCall& call);
  [[nodiscard]] base::Result<LoadedTable> make_table(const LoadRequest& request,
                                                     base::duckdb::Connection& connection);
  [[nodiscard]] Outcome<ToolResult> failure(const base::Error& error, const SqlCall& call,
                                            std::string_view sql) const;

  const SqlOptions options_;
  const std::unique_ptr<base::duckdb::Engine> engine_;
  SqlTables tables_;
  std::set<std::string> brought_;            // By QualifiedName::key(). Guarded by load_mutex_.
  std::size_t deleted_left_ = kMostDeleted;  // Guarded by load_mutex_.
  mutable std::mutex load_mutex_;
  std::mutex restart_mutex_;
  std::uint64_t restarts_seen_ = 0;  // Guarded by restart_mutex_.
};

}  // namespace tool::connectors
