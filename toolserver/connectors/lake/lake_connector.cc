#include "toolserver/connectors/lake/lake_connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <set>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "base/json/fields.h"
#include "toolserver/connectors/function_tool.h"
#include "toolserver/connectors/lake/lake_capabilities.h"
#include "toolserver/connectors/sql/sql_arguments.h"
#include "toolserver/connectors/sql/sql_child.h"
#include "toolserver/connectors/sql/sql_connector.h"

namespace tool::lake {
namespace {

namespace asio = boost::asio;
using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;
using connectors::BroughtFile;
using connectors::BroughtTable;
using connectors::QualifiedName;
using connectors::SqlOptions;
using connectors::SqlOrder;
using std::chrono::steady_clock;

constexpr std::string_view kMask = "lakeproxy.mask.";
constexpr std::string_view kRowFilter = "iceberg.row-filter";
constexpr std::size_t kMostTables = 32;
// The engine reads some files of a table at a time, and closes each behind it.
constexpr unsigned kOpenFiles = 1024;
// A part of a file, and what HTTP puts around it.
constexpr std::size_t kStoreBody = 9ULL << 20;

base::http::ClientOptions client_options(const LakeOptions& options, std::size_t body) {
  base::http::ClientOptions made;
  made.connections = 8;
  made.body_bytes = body;
  made.response_time = options.time;
  made.ca_file = options.ca_file;
  return made;
}

std::string text_of(const Object& args, std::string_view member) {
  const Value* value = args.if_contains(member);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

QualifiedName named(const Object& args) {
  return {text_of(args, "namespace"), text_of(args, "table")};
}

ToolResult list_result(std::string_view member, const std::vector<std::string>& names) {
  Array list;
  for (const std::string& name : names) list.emplace_back(name);
  return connectors::json_result(Object{{member, std::move(list)}});
}

ToolResult description(const QualifiedName& name, const ShownTable& table) {
  Array columns;
  for (const ShownColumn& column : table.shown) {
    Object one{{"name", column.name}, {"type", column.type}, {"required", column.required}};
    if (!column.doc.empty()) one["doc"] = column.doc;
    columns.push_back(std::move(one));
  }
  return connectors::json_result(Object{
      {"namespace", name.name_space}, {"table", name.table}, {"columns", std::move(columns)}});
}

// What the lake tells with the table: masks by column, each with a note in the column's doc.
ToolResult explanation(const QualifiedName& name, const ShownTable& table,
                       const std::string& subject, const std::string& service) {
  Array masked;
  for (const ShownColumn& column : table.shown) {
    auto mask = table.properties.find(std::string(kMask) + column.name);
    if (mask == table.properties.end()) continue;
    masked.push_back(
        Object{{"column", column.name}, {"shown_as", mask->second}, {"note", column.doc}});
  }
  Object answer;
  std::string text = fmt::format(
      "The lake is asked for {}, with {} acting: it shows what both may see. ", subject, service);
  text += masked.empty()
              ? fmt::format("No column of {}.{} is masked for them. ", name.name_space, name.table)
              : "The masked columns hold what shown_as makes of their values. ";
  text +=
      "A role that lifts a policy does so only where both have it; whoever governs the lake "
      "grants it.";
  answer["masked_columns"] = std::move(masked);
  auto filter = table.properties.find(std::string(kRowFilter));
  if (filter != table.properties.end()) answer["row_filter"] = filter->second;
  answer["explanation"] = std::move(text);
  answer["asked_as"] = fmt::format("{} through {}", subject, service);
  return connectors::json_result(std::move(answer));
}

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

base::Result<std::unique_ptr<isolate::PartClient>> start_engine(
    const SqlOptions& options, const LakeConnector::OnEvent& on_event) {
  isolate::PartOptions part{.role = std::string(connectors::kSqlRole),
                            .walls = connectors::walls_of(options)};
  part.walls.files = kOpenFiles;
  part.answer_bytes = connectors::sql_answer_bytes(options.bytes);
  part.on_event = on_event;
  part.opening = [options](bool) { return encode(connectors::SqlOpening{options, {}}); };
  return isolate::PartClient::start(std::move(part));
}

}  // namespace

// The engine's process, which is started and ended where blocking does no harm.
class LakeConnector::Engine {
 public:
  Engine(std::unique_ptr<isolate::PartClient> part, base::BlockingPool& pool)
      : part_(std::move(part)), pool_(pool) {}

  base::Task<LakeAnswer<ToolResult>> order(std::string_view tool, Object args,
                                           base::Deadline deadline, Progress progress = {}) {
    SqlOrder order{.tool = std::string(tool), .args = std::move(args)};
    auto answer = co_await connectors::run_order(part_.get(), std::move(order), deadline,
                                                 std::move(progress));
    if (!answer) co_return LakeError{std::move(answer).error()};
    co_return *std::move(answer);
  }
  base::Task<void> end() {
    co_await pool_.run([this] {
      part_.reset();
      return true;
    });
  }

 private:
  std::unique_ptr<isolate::PartClient> part_;
  base::BlockingPool& pool_;
};

namespace {

LakeError not_named() { return refused(Code::kInternal, "lake: the engine named no tables"); }

// The engine's process parses what a caller wrote, so its answer is a stranger's.
LakeAnswer<std::vector<QualifiedName>> names_of(const ToolResult& answer) {
  if (!answer.structured) return not_named();
  auto fields = Fields::of(*answer.structured, "");
  if (!fields) return not_named();
  auto list = fields->objects("tables");
  if (!list) return not_named();
  std::vector<QualifiedName> names;
  for (const Fields& one : *list) {
    auto name_space = one.string("namespace");
    auto table = one.string("table");
    if (!name_space || !table) return not_named();
    names.push_back({*std::move(name_space), *std::move(table)});
  }
  if (names.size() > kMostTables) {
    return mistake(fmt::format("sql: a statement may name at most {} tables", kMostTables));
  }
  return names;
}

// The files of one table, under names of ours.
LakeAnswer<BroughtTable> to_bring(const QualifiedName& name, ShownTable shown, const ScanPage& plan,
                                  std::vector<Wanted>& wanted) {
  const auto unreadable = [&](std::string_view why) {
    return mistake(
        fmt::format("the table {}.{} cannot be read here: {}", name.name_space, name.table, why));
  };
  if (!shown.unreadable.empty()) return unreadable(shown.unreadable);
  BroughtTable table{.name = name, .columns = std::move(shown.columns), .files = {}};
  const auto want = [&](const ScanFile& file) {
    wanted.push_back({name, file, fmt::format("f{}", wanted.size())});
    return wanted.back().name;
  };
  std::vector<std::string> deletes;
  for (const ScanFile& file : plan.deletes) {
    if (!file.is_parquet) {
      return unreadable(
          "it has deletes in a form that is not read here (deletion vectors of format "
          "version 3, or equality deletes); compact it, or read it with another client");
    }
    deletes.push_back(want(file));
  }
  for (const ScanTask& task : plan.tasks) {
    if (!task.data.is_parquet) return unreadable("it has files that are not Parquet");
    BroughtFile file{.file = want(task.data)};
    for (std::size_t at : task.deletes) file.deletes.push_back({deletes[at], task.data.path});
    table.files.push_back(std::move(file));
  }
  return table;
}

}  // namespace

std::uint64_t request_id_of(std::string_view call_id) {
  const auto digest = base::crypto::sha256(call_id);
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < sizeof(id); ++i) id = id << 8 | digest[i];
  return id;
}

LakeConnector::LakeConnector(LakeOptions options, std::unique_ptr<ScratchFolder> scratch,
                             base::BlockingPool& pool, const base::Clock& clock,
                             base::Random& random, OnEvent on_event)
    : options_(std::move(options)),
      scratch_(std::move(scratch)),
      pool_(pool),
      clock_(clock),
      random_(random),
      on_event_(std::move(on_event)),
      catalog_(options_.catalog, client_options(options_, 64ULL << 20)),
      store_(options_.store, client_options(options_, kStoreBody)),
      tokens_(options_, catalog_, clock_, random_) {}

base::Result<std::unique_ptr<LakeConnector>> LakeConnector::open(LakeOptions options,
                                                                 base::BlockingPool& pool,
                                                                 const base::Clock& clock,
                                                                 base::Random& random,
                                                                 OnEvent on_event) {
  ASSIGN_OR_RETURN(auto scratch, ScratchFolder::open(options.scratch_dir));
  return std::unique_ptr<LakeConnector>(new LakeConnector(
      std::move(options), std::move(scratch), pool, clock, random, std::move(on_event)));
}

std::vector<Capability> LakeConnector::capabilities() const { return lake_capabilities(options_); }

Outcome<void> LakeConnector::allows(const Invocation& call) const {
  // The same name, of somebody whom another one vouches for, is somebody else.
  if (call.forwarded != nullptr || call.principal->issuer != options_.issuer) {
    return refuse(Code::kPolicy,
                  "lake: the lake is asked only for callers of this service itself, not for those "
                  "that others vouch for");
  }
  return {};
}

bool LakeConnector::is_allowed(const QualifiedName& name) const {
  // Parted at the last dot, so that no other pair of names is taken for one of the list.
  return options_.tables.empty() || std::ranges::any_of(options_.tables, [&](std::string_view one) {
           const std::size_t dot = one.rfind('.');
           return one.substr(0, dot) == name.name_space && one.substr(dot + 1) == name.table;
         });
}

base::Task<Outcome<ToolResult>> LakeConnector::invoke(Approved<Invocation> call,
                                                      Progress progress) {
  if (auto good = allows(*call); !good) co_return std::move(good).error();
  if (call->dry_run) co_return ToolResult{};
  base::RequestContext context{request_id_of(call->request_id), call->context.deadline};
  context.deadline = std::min(context.deadline, steady_clock::now() + options_.time);
  auto answered = co_await answer(&*call, context, std::move(progress));
  if (answered) co_return *std::move(answered);
  LakeError error = std::move(answered).error();
  if (error.is_mistake) co_return connectors::error_result(std::move(error.fault.message));
  co_return std::move(error.fault);
}

base::Task<LakeAnswer<ToolResult>> LakeConnector::answer(const Invocation* call,
                                                         base::RequestContext context,
                                                         Progress progress) {
  const std::string& subject = call->principal->subject;
  LakeCatalog catalog(options_, catalog_, tokens_, context, subject);
  const std::string& tool = call->tool.text();
  if (tool == kListNamespaces) {
    CO_ASSIGN_OR_RETURN(auto names, co_await catalog.namespaces(text_of(call->args, "parent")));
    co_return list_result("namespaces", names);
  }
  if (tool == kListTables) {
    CO_ASSIGN_OR_RETURN(auto names, co_await catalog.tables(text_of(call->args, "namespace")));
    std::erase_if(names, [&](const std::string& name) {
      return !is_allowed({text_of(call->args, "namespace"), name});
    });
    co_return list_result("tables", names);
  }
  if (tool == kQuery) co_return co_await query(call, &catalog, context, std::move(progress));
  const QualifiedName name = named(call->args);
  if (!is_allowed(name)) {
    co_return refused(Code::kPolicy, "lake: the table is not one of connectors.lake.tables");
  }
  CO_ASSIGN_OR_RETURN(const ShownTable table, co_await catalog.table(name));
  if (tool == kDescribeTable) co_return description(name, table);
  if (tool == kExplainAccess) co_return explanation(name, table, subject, options_.client_id);
  co_return refused(Code::kTool, "there is no such tool");
}

base::Task<LakeAnswer<Array>> LakeConnector::bring_tables(std::vector<QualifiedName> names,
                                                          LakeCatalog* catalog,
                                                          base::RequestContext context,
                                                          std::string folder) {
  std::vector<Wanted> wanted;
  Array tables;
  for (const QualifiedName& name : names) {
    if (!is_allowed(name)) {
      co_return refused(Code::kPolicy,
                        fmt::format("lake: {}.{} is not one of connectors.lake.tables",
                                    name.name_space, name.table));
    }
    CO_ASSIGN_OR_RETURN(ShownTable shown, co_await catalog->table(name));
    ScanPage plan;
    if (shown.snapshot) {
      CO_ASSIGN_OR_RETURN(plan, co_await catalog->plan(name, *shown.snapshot));
    }
    CO_ASSIGN_OR_RETURN(const BroughtTable table, to_bring(name, std::move(shown), plan, wanted));
    tables.push_back(to_json(table));
  }
  std::uint64_t bytes = 0;
  for (const Wanted& one : wanted)
    bytes += std::min(one.file.bytes, options_.file_bytes + 1 - bytes);
  if (bytes > options_.file_bytes) {
    co_return mistake(
        fmt::format("the files of these tables have more than {} bytes, which is what "
                    "one query may read (connectors.lake.max_file_bytes)",
                    options_.file_bytes));
  }
  CO_RETURN_IF_ERROR(co_await bring(context, catalog, &store_, &pool_, std::move(wanted), folder));
  co_return tables;
}

// Screens the statement, brings what it names, runs it.
base::Task<LakeAnswer<ToolResult>> LakeConnector::run_query(const Invocation* call,
                                                            LakeCatalog* catalog,
                                                            base::RequestContext context,
                                                            Engine* engine, std::string folder,
                                                            Progress progress) {
  CO_ASSIGN_OR_RETURN(
      auto screened,
      co_await engine->order(connectors::kNameTables, Object{{"sql", text_of(call->args, "sql")}},
                             context.deadline));
  if (screened.is_error) co_return screened;
  CO_ASSIGN_OR_RETURN(auto names, names_of(screened));
  CO_ASSIGN_OR_RETURN(Array tables,
                      co_await bring_tables(std::move(names), catalog, context, std::move(folder)));
  CO_ASSIGN_OR_RETURN(auto brought, co_await engine->order(connectors::kBringTables,
                                                           Object{{"tables", std::move(tables)}},
                                                           context.deadline));
  if (brought.is_error) co_return brought;
  co_return co_await engine->order("sql.query", call->args, context.deadline, std::move(progress));
}

base::Task<LakeAnswer<ToolResult>> LakeConnector::query(const Invocation* call,
                                                        LakeCatalog* catalog,
                                                        base::RequestContext context,
                                                        Progress progress) {
  // What was begun is ended in its order, also for a caller that has gone.
  co_await asio::this_coro::throw_if_cancelled(false);
  auto folder = QueryFolder::make(*scratch_, random_);
  if (!folder) {
    co_return refused(Code::kUpstream, "lake: " + folder.error().message(),
                      folder.error().detail());
  }
  const SqlOptions options = engine_options(options_, folder->path());
  auto started = co_await pool_.run([&] { return start_engine(options, on_event_); });
  if (!started) {
    co_return refused(Code::kUpstream, "lake: the engine's process did not start",
                      started.error().message() + " " + started.error().detail());
  }
  Engine engine(*std::move(started), pool_);
  auto answer =
      co_await run_query(call, catalog, context, &engine, folder->path(), std::move(progress));
  co_await engine.end();
  co_return answer;
}

}  // namespace tool::lake
