#include "toolserver/connectors/sql/sql_work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/duckdb/sql_text.h"
#include "toolserver/connectors/sql/parquet_parts.h"
#include "toolserver/connectors/sql/raw_files.h"
#include "toolserver/connectors/sql/sql_faults.h"
#include "toolserver/connectors/sql/sql_params.h"
#include "toolserver/connectors/sql/sql_result.h"
#include "toolserver/connectors/sql/statement_needs.h"

namespace tool::connectors {
namespace {

using base::duckdb::Connection;
using base::duckdb::Param;
using base::duckdb::Text;
using base::json::Object;
using base::json::Value;

ToolResult structured_answer(Object object) {
  ToolResult result;
  Value value(std::move(object));
  result.content.push_back({"application/json", base::json::write(value)});
  result.structured = std::move(value);
  return result;
}

Object table_summary(const LoadedTable& table) {
  Object object;
  object["name"] = table.name;
  object["file"] = table.file;
  object["row_count"] = table.rows;
  return object;
}

// What the screen says to the caller.
Outcome<ToolResult> verdict_answer(const Verdict& verdict, std::string_view data_dir,
                                   std::string_view sql) {
  switch (verdict.kind) {
    case Verdict::Kind::kUnknownTable:
    case Verdict::Kind::kUnreadable:
      return sql_mistake(without_paths(verdict.reason, data_dir, sql));
    default: return refuse(Code::kPolicy, "sql: " + verdict.reason);
  }
}

base::Result<std::string> one_text(Connection& connection, std::string_view sql,
                                   std::string_view argument) {
  std::vector<Param> params{Text{argument}};
  ASSIGN_OR_RETURN(base::duckdb::Rows rows, connection.execute(sql, params));
  ASSIGN_OR_RETURN(bool any, rows.next());
  if (!any || rows.is_null(0)) {
    return base::fail(base::ErrorKind::kInvalid, "the engine gives no tree of the statement");
  }
  return std::string(rows.bytes(0));
}

std::string_view reader_of(FileKind kind) {
  switch (kind) {
    case FileKind::kParquet: return "read_parquet";
    case FileKind::kCsv: return "read_csv";
    case FileKind::kJson: return "read_json";
  }
  return "read_csv";
}

// The name that the engine checks against its fence; links are resolved here,
// so that the folder itself may be reached through one.
std::string real_folder(const std::string& folder) {
  std::error_code error;
  auto real = std::filesystem::canonical(folder, error);
  return error ? folder : real.string();
}

// A pipe would keep the engine waiting in open(), where nothing interrupts it.
// What is not there, and what cannot be asked, is left to the engine to tell of.
std::optional<ToolResult> not_regular(const std::string& folder, const std::string& file) {
  struct stat facts{};
  std::string path = folder + "/" + file;
  if (::stat(path.c_str(), &facts) != 0 || S_ISREG(facts.st_mode)) return std::nullopt;
  return sql_mistake(fmt::format("{} is not a regular file", file));
}

}  // namespace

base::Result<std::unique_ptr<SqlWork>> SqlWork::open(SqlOptions options) {
  RETURN_IF_ERROR(check(options));
  if (!options.data_dir.empty()) options.data_dir = real_folder(options.data_dir);
  using base::duckdb::ExternalAccess;
  // No temporary files: the engine would let SQL read the folder they are in.
  ASSIGN_OR_RETURN(auto engine,
                   base::duckdb::Engine::open({.memory_bytes = options.memory_bytes,
                                               .threads = options.threads,
                                               .scratch_bytes = 0,
                                               .data_dir = options.data_dir,
                                               .external_access = options.enable_external_access
                                                                      ? ExternalAccess::kOpen
                                                                      : ExternalAccess::kClosed}));
  return std::unique_ptr<SqlWork>(new SqlWork(std::move(options), std::move(engine)));
}

Outcome<ToolResult> SqlWork::failure(const base::Error& error, const SqlCall& call,
                                     std::string_view sql) const {
  return engine_failure(error, call, options_.data_dir, sql);
}

// After a defect the engine begins anew without tables.
SqlWork::Connected SqlWork::connect(const SqlCall& call) {
  ASSIGN_OR_RETURN(Connection connection, engine_->connect());
  {
    std::lock_guard lock(restart_mutex_);
    if (restarts_seen_ != engine_->restarts()) tables_.clear();
    restarts_seen_ = engine_->restarts();
  }
  connection.set_deadline(call.deadline());
  return connection;
}

// On a connection of its own, with the text as a value: it is only parsed.
Outcome<Value> SqlWork::parse_sql(const std::string& sql, SqlCall& call) {
  auto to_fault = [&](const base::Error& error) -> Fault {
    auto failed = failure(error, call, sql);
    if (!failed) return std::move(failed).error();
    return refuse(Code::kPolicy, "sql: the statement could not be judged");
  };
  auto connection = connect(call);
  if (!connection) return to_fault(connection.error());
  SqlCall::Using using_it(call, *connection);
  auto text = one_text(*connection, "SELECT json_serialize_sql($1::VARCHAR)", sql);
  if (!text) return to_fault(text.error());
  auto tree = base::json::parse(*text, {.bytes = 16 << 20, .depth = 1024, .values = 1'000'000});
  if (!tree) return refuse(Code::kLimit, "sql: the statement is too large or nested too deep");
  return *std::move(tree);
}

// What runs must be what was judged: the text with the files' places put in is
// parsed again, and differs from the judged tree in those places alone.
Outcome<AnchoredSql> SqlWork::anchored(const std::string& sql, Value tree, SqlCall& call) {
  auto made = anchor_files(sql, std::move(tree), options_.data_dir);
  if (!made) return refuse(Code::kPolicy, "sql: " + made.error().message());
  auto again = parse_sql(made->sql, call);
  if (!again) return std::move(again).error();
  if (!is_same_statement(made->tree, *again)) {
    return refuse(Code::kPolicy,
                  "sql: the statement reads otherwise once its files are found; name each file "
                  "in plain quotes");
  }
  return *std::move(made);
}

Outcome<void> SqlWork::check_text(const std::string& sql) const {
  if (sql.size() > options_.statement_bytes) {
    return refuse(Code::kLimit,
                  fmt::format("sql: must be at most {} bytes", options_.statement_bytes));
  }
  if (sql.contains('\0')) return refuse(Code::kShape, "sql: must not hold a NUL");
  return {};
}

Outcome<void> SqlWork::keeps_to_tables(const std::string& sql,
                                       const std::vector<std::string>& tables, SqlCall& call) {
  if (auto good = check_text(sql); !good) return good;
  auto tree = parse_sql(sql, call);
  if (!tree) return std::move(tree).error();
  Verdict verdict =
      screen(*tree, {.tables = {tables.begin(), tables.end()}, .names = TableNames::kSecret});
  switch (verdict.kind) {
    case Verdict::Kind::kAllowed: return {};
    case Verdict::Kind::kUnknownTable:
      return refuse(Code::kPolicy, fmt::format("args.sql: must read no other tables than {}",
                                               fmt::join(tables, ", ")));
    case Verdict::Kind::kUnreadable:
      return refuse(Code::kPolicy, "args.sql: cannot be read, and its tables are ruled");
    default: return refuse(Code::kPolicy, "args.sql: " + verdict.reason);
  }
}

ScreenRules SqlWork::rules() const {
  if (options_.brings_tables) {
    std::lock_guard lock(load_mutex_);
    return {.tables = brought_, .naming = Naming::kBrought};
  }
  return {.tables = tables_.names(),
          .raw_files = options_.allow_raw_file_sql && !options_.data_dir.empty()
                           ? RawFiles::kAllowed
                           : RawFiles::kRefused};
}

Outcome<ToolResult> SqlWork::name_tables(const std::string& sql, const base::json::Array& params,
                                         SqlCall& call) {
  if (auto good = check_text(sql); !good) return std::move(good).error();
  auto tree = parse_sql(sql, call);
  if (!tree) return std::move(tree).error();
  const Verdict verdict = screen(*tree, {.tables = {}, .naming = Naming::kNamed});
  if (!verdict.allowed()) return verdict_answer(verdict, options_.data_dir, sql);
  base::json::Array list;
  for (const QualifiedName& name : verdict.named) {
    list.push_back(Object{{"namespace", name.name_space}, {"table", name.table}});
  }
  Object answer{{"tables", std::move(list)}};
  add_to(answer, needs_of(*tree, params));
  return structured_answer(std::move(answer));
}

Outcome<ToolResult> SqlWork::find_parts(const std::vector<BroughtTable>& tables, SqlCall& call) {
  auto connection = connect(call);
  if (!connection) return failure(connection.error(), call, {});
  SqlCall::Using using_it(call, *connection);
  base::json::Array files;
  for (const BroughtTable& table : tables) {
    for (const BroughtFile& file : table.files) {
      const std::string path = options_.data_dir + "/" + file.file;
      std::error_code error;
      const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
      auto parts = parts_of(*connection, path, error ? 0 : size, table.columns);
      if (!parts) return failure(parts.error(), call, {});
      base::json::Array list;
      for (const FilePart& part : *parts) {
        list.emplace_back(part.begin);
        list.emplace_back(part.end);
      }
      files.push_back(Object{{"file", file.file}, {"parts", std::move(list)}});
    }
  }
  return structured_answer(Object{{"files", std::move(files)}});
}

base::Status SqlWork::make_view(const BroughtTable& table, Connection& connection) {
  std::vector<std::vector<FileColumn>> found;
  for (const BroughtFile& file : table.files) {
    ASSIGN_OR_RETURN(auto columns, columns_of(connection, options_.data_dir + "/" + file.file));
    found.push_back(std::move(columns));
  }
  ASSIGN_OR_RETURN(const auto alike, files_alike(table, found));
  const std::string deleted = deleted_name(brought_.size());
  RETURN_IF_ERROR(
      make_deleted(connection, table, alike, options_.data_dir, deleted, deleted_left_));
  RETURN_IF_ERROR(connection.execute("CREATE SCHEMA IF NOT EXISTS memory." +
                                     base::duckdb::quote_identifier(table.name.name_space)));
  RETURN_IF_ERROR(connection.execute(view_of(table, alike, options_.data_dir, deleted)));
  return {};
}

Outcome<ToolResult> SqlWork::bring_tables(const std::vector<BroughtTable>& tables, SqlCall& call) {
  auto connection = connect(call);
  if (!connection) return failure(connection.error(), call, {});
  SqlCall::Using using_it(call, *connection);
  std::lock_guard lock(load_mutex_);
  for (const BroughtTable& table : tables) {
    if (brought_.contains(table.name.key())) {
      return sql_mistake(fmt::format("two tables are named {}.{} but for upper and lower case",
                                     table.name.name_space, table.name.table));
    }
    auto made = make_view(table, *connection);
    if (!made && made.error().kind() == base::ErrorKind::kUnsupported &&
        made.error().detail().empty()) {
      return sql_mistake(made.error().message());
    }
    if (!made) return failure(made.error(), call, {});
    brought_.insert(table.name.key());
  }
  return structured_answer(Object{});
}

Outcome<ToolResult> SqlWork::query(const QueryRequest& request, SqlCall& call) {
  if (auto good = check_text(request.sql); !good) return std::move(good).error();
  auto tree = parse_sql(request.sql, call);
  if (!tree) return std::move(tree).error();
  Verdict verdict = screen(*tree, rules());
  if (!verdict.allowed()) return verdict_answer(verdict, options_.data_dir, request.sql);
  if (!verdict.names_files) return run(request, request.sql, call);
  auto placed = anchored(request.sql, *std::move(tree), call);
  if (!placed) return std::move(placed).error();
  for (const std::string& file : placed->files) {
    if (auto answer = not_regular(options_.data_dir, file)) return *std::move(answer);
  }
  return run(request, placed->sql, call);
}

Outcome<ToolResult> SqlWork::run(const QueryRequest& request, const std::string& sql,
                                 SqlCall& call) {
  auto connection = connect(call);
  if (!connection) return failure(connection.error(), call, request.sql);
  SqlCall::Using using_it(call, *connection);
  auto count = connection->count_statements(sql);
  if (!count) return failure(count.error(), call, request.sql);
  auto statement = connection->prepare(sql);
  if (!statement) return failure(statement.error(), call, request.sql);
  // The screen has said both already; a difference would be a defect in it.
  if (*count != 1 || !statement->is_select()) {
    return refuse(Code::kPolicy, "sql: only a SELECT is allowed");
  }
  if (statement->param_count() != request.params.size()) {
    return sql_mistake(fmt::format("the statement has {} parameters and the call {}",
                                   statement->param_count(), request.params.size()));
  }
  if (request.run == Run::kDry) {
    Object object;
    object["columns"] = base::json::Array{};
    object["row_count"] = 0;
    object["truncated"] = false;
    return structured_answer(std::move(object));
  }
  if (auto tracked = connection->track_progress(); !tracked) {
    return failure(tracked.error(), call, request.sql);
  }
  auto params = bound_params(request.params);
  auto stream = statement->stream(params);
  if (!stream) return failure(stream.error(), call, request.sql);
  ResultLimits limits{request.rows, options_.bytes};
  auto answer = request.format == ResultFormat::kJson
                    ? render_json(*std::move(stream), limits, call)
                    : render_arrow(*std::move(stream), limits, call);
  if (answer) return *std::move(answer);
  if (answer.error().engine) return failure(*answer.error().engine, call, request.sql);
  return *std::move(answer.error().fault);
}

// Names and paths are checked types, and quoted all the same.
base::Result<LoadedTable> SqlWork::make_table(const LoadRequest& request, Connection& connection) {
  std::string path = options_.data_dir + "/" + request.file.path();
  std::string create = fmt::format("CREATE {} TABLE memory.main.{} AS SELECT * FROM {}({})",
                                   request.existing == Existing::kReplace ? "OR REPLACE" : "",
                                   request.table.quoted(), reader_of(request.file.kind()),
                                   base::duckdb::quote_literal(path));
  RETURN_IF_ERROR(connection.execute(create));
  LoadedTable table{.name = request.table.text(), .file = request.file.path(), .columns = {}};
  std::string from = "FROM memory.main." + request.table.quoted();
  ASSIGN_OR_RETURN(auto rows, connection.execute("SELECT count(*) " + from));
  ASSIGN_OR_RETURN(bool any, rows.next());
  table.rows = any ? rows.int64(0) : 0;
  ASSIGN_OR_RETURN(auto statement, connection.prepare("SELECT * " + from + " LIMIT 0"));
  {
    ASSIGN_OR_RETURN(auto stream, statement.stream({}));
    table.columns = column_list(stream);
  }
  return table;
}

Outcome<ToolResult> SqlWork::load(const LoadRequest& request, SqlCall& call) {
  std::unique_lock lock(load_mutex_, std::try_to_lock);
  if (!lock) {
    return Fault{Code::kBusy, "sql: another file is being loaded", std::chrono::seconds(1), {}};
  }
  if (auto answer = not_regular(options_.data_dir, request.file.path())) return *std::move(answer);
  auto connection = connect(call);
  if (!connection) return failure(connection.error(), call, {});
  bool exists = tables_.find(request.table.text()).has_value();
  if (exists && request.existing == Existing::kKeep) {
    return sql_mistake(fmt::format("there is a table {} already; set replace to load it again",
                                   request.table.text()));
  }
  if (!exists && tables_.size() >= options_.tables) {
    return refuse(Code::kLimit, fmt::format("sql: at most {} tables", options_.tables));
  }
  if (request.run == Run::kDry) {
    return structured_answer(
        table_summary({.name = request.table.text(), .file = request.file.path(), .columns = {}}));
  }
  SqlCall::Using using_it(call, *connection);
  if (auto tracked = connection->track_progress(); !tracked) {
    return failure(tracked.error(), call, {});
  }
  auto table = make_table(request, *connection);
  if (!table) return failure(table.error(), call, {});
  Object answer = table_summary(*table);
  answer["columns"] = table->columns;
  tables_.put(*std::move(table));
  return structured_answer(std::move(answer));
}

Outcome<ToolResult> SqlWork::unload(const UnloadRequest& request, SqlCall& call) {
  std::unique_lock lock(load_mutex_, std::try_to_lock);
  if (!lock) {
    return Fault{Code::kBusy, "sql: a file is being loaded", std::chrono::seconds(1), {}};
  }
  auto connection = connect(call);
  if (!connection) return failure(connection.error(), call, {});
  auto table = tables_.find(request.table.text());
  if (!table) return sql_mistake(fmt::format("there is no table {}", request.table.text()));
  if (request.run == Run::kDry) return structured_answer(table_summary(*table));
  SqlCall::Using using_it(call, *connection);
  auto dropped = connection->execute("DROP TABLE memory.main." + request.table.quoted());
  if (!dropped) return failure(dropped.error(), call, {});
  tables_.remove(request.table.text());
  return structured_answer(table_summary(*table));
}

ToolResult SqlWork::list_tables() {
  base::json::Array list;
  for (const LoadedTable& table : tables_.all()) list.push_back(table_summary(table));
  Object object;
  object["tables"] = std::move(list);
  return structured_answer(std::move(object));
}

ToolResult SqlWork::describe(std::string_view name) {
  auto table = tables_.find(name);
  if (!table) return sql_mistake(fmt::format("there is no table {}", name));
  Object object = table_summary(*table);
  object["columns"] = std::move(table->columns);
  return structured_answer(std::move(object));
}

}  // namespace tool::connectors
