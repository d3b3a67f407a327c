#include "toolserver/connectors/lake/lake_query.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/fields.h"
#include "toolserver/connectors/lake/scan_filter.h"
#include "toolserver/connectors/sql/sql_arguments.h"
#include "toolserver/connectors/sql/sql_child.h"
#include "toolserver/connectors/sql/sql_connector.h"
#include "toolserver/connectors/sql/sql_names.h"

namespace tool::lake {
namespace {

using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;
using connectors::BroughtFile;
using connectors::BroughtTable;
using connectors::QualifiedName;
using connectors::SqlOptions;
using connectors::SqlOrder;
using connectors::StatementNeeds;

constexpr std::size_t kMostTables = 32;
// The engine reads some files of a table at a time, and closes each behind it.
constexpr unsigned kOpenFiles = 1024;

SqlOptions engine_options(const LakeOptions& options, const std::string& folder) {
  SqlOptions made;
  made.data_dir = folder;
  made.brings_tables = true;
  made.memory_bytes = options.memory_bytes;
  made.threads = options.threads;
  made.rows = options.rows;
  made.bytes = options.bytes;
  made.time = options.time;
  made.calls = 1;
  made.demand = options.demand;
  return made;
}

// The engine's process parses what a caller wrote and what files hold, so its answer is a
// stranger's.
LakeError not_understood(std::string_view what) {
  return refused(Code::kInternal, fmt::format("lake: the engine named no {}", what));
}

base::Result<std::vector<WantedParts>> read_parts(const ToolResult& answer) {
  const Value nothing;
  ASSIGN_OR_RETURN(Fields fields, Fields::of(answer.structured ? *answer.structured : nothing, ""));
  ASSIGN_OR_RETURN(auto files, fields.objects("files"));
  std::vector<WantedParts> wanted;
  for (const Fields& one : files) {
    WantedParts parts;
    ASSIGN_OR_RETURN(parts.name, one.string("file"));
    ASSIGN_OR_RETURN(const Array* ends, one.array("parts"));
    std::vector<std::uint64_t> numbers;
    for (const Value& end : *ends) {
      const auto* number = end.if_int64();
      if (number == nullptr || *number < 0) {
        return base::fail(base::ErrorKind::kInvalid, one.path_of("parts") + ": must be numbers");
      }
      numbers.push_back(static_cast<std::uint64_t>(*number));
    }
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      parts.parts.push_back({numbers[i], numbers[i + 1]});
    }
    wanted.push_back(std::move(parts));
  }
  return wanted;
}

Array json_of(const std::vector<BroughtTable>& tables) {
  Array list;
  for (const BroughtTable& table : tables) list.push_back(to_json(table));
  return list;
}

LakeError unreadable(const QualifiedName& name, std::string_view why) {
  return mistake(
      fmt::format("the table {}.{} cannot be read here: {}", name.name_space, name.table, why));
}

// What the statement may name; all where it does not tell.
LakeAnswer<std::vector<connectors::BroughtColumn>> needed_columns(const QualifiedName& name,
                                                                  const ShownTable& shown,
                                                                  const StatementNeeds& needs) {
  const auto is_needed = [&](const std::string& column) {
    return !needs.columns || needs.columns->contains(connectors::lower_ascii(column));
  };
  for (const auto& [column, why] : shown.unreadable) {
    if (is_needed(column)) return unreadable(name, why);
  }
  std::vector<connectors::BroughtColumn> columns;
  std::ranges::copy_if(shown.columns, std::back_inserter(columns),
                       [&](const auto& column) { return is_needed(column.name); });
  return columns;
}

}  // namespace

base::Result<std::unique_ptr<QueryEngine>> QueryEngine::start(const LakeOptions& options,
                                                              const std::string& folder,
                                                              base::BlockingPool& pool,
                                                              const OnEvent& on_event) {
  const SqlOptions engine = engine_options(options, folder);
  isolate::PartOptions part{.role = std::string(connectors::kSqlRole),
                            .walls = connectors::walls_of(engine)};
  part.walls.files = kOpenFiles;
  part.answer_bytes = connectors::sql_answer_bytes(options.bytes);
  part.on_event = on_event;
  part.opening = [engine](bool) { return encode(connectors::SqlOpening{engine, {}}); };
  ASSIGN_OR_RETURN(auto client, isolate::PartClient::start(std::move(part)));
  return std::unique_ptr<QueryEngine>(new QueryEngine(std::move(client), pool));
}

base::Task<LakeAnswer<ToolResult>> QueryEngine::order(std::string_view tool, Object args,
                                                      base::Deadline deadline, Progress progress) {
  SqlOrder order{.tool = std::string(tool), .args = std::move(args)};
  auto answer =
      co_await connectors::run_order(part_.get(), std::move(order), deadline, std::move(progress));
  if (!answer) co_return LakeError{std::move(answer).error()};
  co_return *std::move(answer);
}

base::Task<void> QueryEngine::end() {
  co_await pool_.run([this] {
    part_.reset();
    return true;
  });
}

bool is_listed(const LakeOptions& options, const QualifiedName& name) {
  // Parted at the last dot, so that no other pair of names is taken for one of the list.
  return options.tables.empty() || std::ranges::any_of(options.tables, [&](std::string_view one) {
           const std::size_t dot = one.rfind('.');
           return one.substr(0, dot) == name.name_space && one.substr(dot + 1) == name.table;
         });
}

LakeAnswer<LakeQuery::Named> LakeQuery::read_named(const ToolResult& answer) {
  Named named;
  if (!answer.structured) return not_understood("tables");
  auto fields = Fields::of(*answer.structured, "");
  if (!fields) return not_understood("tables");
  auto list = fields->objects("tables");
  auto needs = connectors::read_needs(*fields);
  if (!list || !needs) return not_understood("tables");
  named.needs = *std::move(needs);
  for (const Fields& one : *list) {
    auto name_space = one.string("namespace");
    auto table = one.string("table");
    if (!name_space || !table) return not_understood("tables");
    named.tables.push_back({*std::move(name_space), *std::move(table)});
  }
  if (named.tables.size() > kMostTables) {
    return mistake(fmt::format("sql: a statement may name at most {} tables", kMostTables));
  }
  return named;
}

// The files of one table, under names of ours.
LakeAnswer<BroughtTable> LakeQuery::to_bring(const QualifiedName& name, const ShownTable& shown,
                                             const ScanPage& plan, const StatementNeeds& needs) {
  auto columns = needed_columns(name, shown, needs);
  if (!columns) return std::move(columns).error();
  BroughtTable table{.name = name, .columns = *std::move(columns), .files = {}};
  std::vector<std::string> deletes;
  for (const ScanFile& file : plan.deletes) {
    if (!file.is_parquet && !file.vector) {
      return unreadable(name,
                        "it has deletes in a form that is not read here (equality deletes, or "
                        "positions that are not in Parquet); compact it, or read it with another "
                        "client");
    }
    deletes.push_back(files_.want_whole(name, file));
  }
  for (const ScanTask& task : plan.tasks) {
    if (!task.data.is_parquet) return unreadable(name, "it has files that are not Parquet");
    BroughtFile file{.file = files_.want_columns(name, task.data)};
    for (std::size_t at : task.deletes) {
      const auto& vector = plan.deletes[at].vector;
      if (vector && vector->data_path != task.data.path) {
        return refused(Code::kUpstream, "lake: a deletion vector is of another file");
      }
      file.deletes.push_back({deletes[at], vector ? std::nullopt : std::optional(task.data.path)});
    }
    table.files.push_back(std::move(file));
  }
  return table;
}

base::Task<LakeAnswer<BroughtTable>> LakeQuery::plan(QualifiedName name,
                                                     const StatementNeeds* needs) {
  if (!is_listed(options_, name)) {
    co_return refused(Code::kPolicy, fmt::format("lake: {}.{} is not one of connectors.lake.tables",
                                                 name.name_space, name.table));
  }
  CO_ASSIGN_OR_RETURN(const ShownTable shown, co_await catalog_.table(name));
  ScanPage plan;
  if (shown.snapshot) {
    CO_ASSIGN_OR_RETURN(plan, co_await catalog_.plan(name, *shown.snapshot,
                                                     filter_of(name, shown, needs->conditions)));
  }
  co_return to_bring(name, shown, plan, *needs);
}

// The ends of files first: from them the engine tells which parts it reads.
base::Task<LakeAnswer<Brought>> LakeQuery::bring(const std::vector<BroughtTable>* tables) {
  CO_RETURN_IF_ERROR(co_await files_.bring_ends());
  std::vector<BroughtTable> parted = *tables;
  for (BroughtTable& table : parted) {
    std::erase_if(table.files, [&](BroughtFile& file) {
      file.deletes.clear();
      return files_.is_whole(file.file);
    });
  }
  std::erase_if(parted, [](const BroughtTable& table) {
    return table.files.empty() || table.columns.empty();
  });
  if (parted.empty()) co_return Brought{};
  CO_ASSIGN_OR_RETURN(
      auto found, co_await engine_.order(connectors::kFindParts,
                                         Object{{"tables", json_of(parted)}}, context_.deadline));
  if (found.is_error) {
    co_return mistake(found.content.empty() ? std::string("a file of a table cannot be read")
                                            : std::move(found.content.front().data));
  }
  auto wanted = read_parts(found);
  if (!wanted) co_return not_understood("parts");
  co_return co_await files_.bring_parts(*std::move(wanted));
}

base::Task<LakeAnswer<ToolResult>> LakeQuery::run(Object args, Progress progress) {
  Object statement;
  for (const char* member : {"sql", "params"}) {
    if (const Value* value = args.if_contains(member)) statement[member] = *value;
  }
  CO_ASSIGN_OR_RETURN(
      auto screened,
      co_await engine_.order(connectors::kNameTables, std::move(statement), context_.deadline));
  if (screened.is_error) co_return screened;
  CO_ASSIGN_OR_RETURN(const Named named, read_named(screened));
  std::vector<BroughtTable> tables;
  for (const QualifiedName& name : named.tables) {
    CO_ASSIGN_OR_RETURN(BroughtTable table, co_await plan(name, &named.needs));
    tables.push_back(std::move(table));
  }
  CO_RETURN_IF_ERROR(co_await bring(&tables));
  CO_ASSIGN_OR_RETURN(
      auto brought, co_await engine_.order(connectors::kBringTables,
                                           Object{{"tables", json_of(tables)}}, context_.deadline));
  if (brought.is_error) co_return brought;
  co_return co_await engine_.order("sql.query", std::move(args), context_.deadline,
                                   std::move(progress));
}

}  // namespace tool::lake
