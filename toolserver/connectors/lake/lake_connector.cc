#include "toolserver/connectors/lake/lake_connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <set>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "toolserver/connectors/function_tool.h"
#include "toolserver/connectors/lake/lake_capabilities.h"
#include "toolserver/connectors/lake/lake_query.h"

namespace tool::lake {
namespace {

namespace asio = boost::asio;
using base::json::Array;
using base::json::Object;
using base::json::Value;
using connectors::QualifiedName;
using std::chrono::steady_clock;

constexpr std::string_view kMask = "lakeproxy.mask.";
constexpr std::string_view kRowFilter = "iceberg.row-filter";
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
      return !is_listed(options_, {text_of(call->args, "namespace"), name});
    });
    co_return list_result("tables", names);
  }
  if (tool == kQuery) co_return co_await query(call, &catalog, context, std::move(progress));
  const QualifiedName name = named(call->args);
  if (!is_listed(options_, name)) {
    co_return refused(Code::kPolicy, "lake: the table is not one of connectors.lake.tables");
  }
  CO_ASSIGN_OR_RETURN(const ShownTable table, co_await catalog.table(name));
  if (tool == kDescribeTable) co_return description(name, table);
  if (tool == kExplainAccess) co_return explanation(name, table, subject, options_.client_id);
  co_return refused(Code::kTool, "there is no such tool");
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
  auto engine = co_await pool_.run(
      [&] { return QueryEngine::start(options_, folder->path(), pool_, on_event_); });
  if (!engine) {
    co_return refused(Code::kUpstream, "lake: the engine's process did not start",
                      engine.error().message() + " " + engine.error().detail());
  }
  QueryFiles files(context, *catalog, store_, pool_, folder->path(), options_.file_bytes);
  LakeQuery query(options_, *catalog, **engine, files, context);
  auto answer = co_await query.run(call->args, std::move(progress));
  co_await (*engine)->end();
  co_return answer;
}

}  // namespace tool::lake
