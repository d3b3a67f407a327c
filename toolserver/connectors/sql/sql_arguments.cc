#include "toolserver/connectors/sql/sql_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/fields.h"
#include "toolserver/connectors/sql/sql_params.h"

namespace tool::connectors {
namespace {

using base::json::Fields;

Fault shape(const base::Error& error) { return refuse(Code::kShape, error.message()); }

base::Status check_members(const base::json::Object& args,
                           std::initializer_list<std::string_view> known) {
  for (const auto& member : args) {
    std::string_view key(member.key());
    if (std::ranges::find(known, key) == known.end()) {
      return base::fail(base::ErrorKind::kInvalid, fmt::format("{}: is not known", key));
    }
  }
  return {};
}

base::Result<ResultFormat> format_of(const Fields& fields) {
  ASSIGN_OR_RETURN(auto text, fields.opt_string("format"));
  if (!text || *text == "json") return ResultFormat::kJson;
  if (*text == "arrow") return ResultFormat::kArrow;
  return base::fail(base::ErrorKind::kInvalid, "format: must be json or arrow");
}

base::Result<QueryRequest> query(const Fields& fields, const SqlOptions& options) {
  QueryRequest request;
  ASSIGN_OR_RETURN(request.sql, fields.string("sql"));
  ASSIGN_OR_RETURN(const base::json::Array* params, fields.opt_array("params"));
  if (params != nullptr) request.params = *params;
  if (request.params.size() > options.params) {
    return base::fail(base::ErrorKind::kTooLarge,
                      fmt::format("params: must be at most {}", options.params));
  }
  if (!std::ranges::all_of(request.params, is_param)) {
    return base::fail(base::ErrorKind::kInvalid,
                      "params: each must be null, a boolean, a number or a text");
  }
  if (std::ranges::any_of(request.params, [&](const base::json::Value& value) {
        return value.is_string() && value.get_string().size() > options.param_bytes;
      })) {
    return base::fail(base::ErrorKind::kTooLarge,
                      fmt::format("params: each text must be at most {} bytes; load long texts as "
                                  "a table",
                                  options.param_bytes));
  }
  ASSIGN_OR_RETURN(auto limit, fields.opt_int64("limit"));
  if (limit && (*limit < 1 || std::cmp_greater(*limit, options.rows))) {
    return base::fail(base::ErrorKind::kInvalid,
                      fmt::format("limit: must be 1 to {}", options.rows));
  }
  request.rows = limit ? static_cast<std::size_t>(*limit) : options.rows;
  ASSIGN_OR_RETURN(request.format, format_of(fields));
  return request;
}

base::Result<LoadRequest> load(const Fields& fields) {
  ASSIGN_OR_RETURN(std::string path, fields.string("file"));
  ASSIGN_OR_RETURN(DataFile file, DataFile::parse(path));
  ASSIGN_OR_RETURN(std::string name, fields.string("table"));
  ASSIGN_OR_RETURN(TableName table, TableName::parse(name));
  ASSIGN_OR_RETURN(auto replace, fields.opt_boolean("replace"));
  return LoadRequest{.file = std::move(file),
                     .table = std::move(table),
                     .existing = replace.value_or(false) ? Existing::kReplace : Existing::kKeep};
}

base::Result<DescribeRequest> describe(const Fields& fields) {
  ASSIGN_OR_RETURN(std::string name, fields.string("table"));
  ASSIGN_OR_RETURN(TableName table, TableName::parse(name));
  return DescribeRequest{std::move(table)};
}

base::Result<SqlRequest> brought_request(std::string_view tool, const Fields& fields) {
  if (tool == kNameTables) {
    ASSIGN_OR_RETURN(std::string sql, fields.string("sql"));
    ASSIGN_OR_RETURN(const base::json::Array* params, fields.opt_array("params"));
    return SqlRequest(
        NameRequest{std::move(sql), params != nullptr ? *params : base::json::Array()});
  }
  if (tool != kBringTables && tool != kFindParts) {
    return base::fail(base::ErrorKind::kNotFound, "there is no such tool");
  }
  std::vector<BroughtTable> read;
  ASSIGN_OR_RETURN(auto tables, fields.objects("tables"));
  for (const Fields& one : tables) {
    ASSIGN_OR_RETURN(BroughtTable table, read_brought_table(one));
    read.push_back(std::move(table));
  }
  if (tool == kFindParts) return SqlRequest(PartsRequest{std::move(read)});
  return SqlRequest(BringRequest{std::move(read)});
}

base::Result<SqlRequest> request_of(const Invocation& call, const SqlOptions& options,
                                    const base::json::Value& args) {
  ASSIGN_OR_RETURN(Fields fields, Fields::of(args, ""));
  const std::string& tool = call.tool.text();
  Run run = call.dry_run ? Run::kDry : Run::kReal;
  if (tool == "sql.query") {
    RETURN_IF_ERROR(check_members(call.args, {"sql", "params", "limit", "format"}));
    ASSIGN_OR_RETURN(QueryRequest request, query(fields, options));
    request.run = run;
    return SqlRequest(std::move(request));
  }
  if (options.brings_tables) return brought_request(tool, fields);
  if (tool == "sql.describe") {
    RETURN_IF_ERROR(check_members(call.args, {"table"}));
    ASSIGN_OR_RETURN(DescribeRequest request, describe(fields));
    return SqlRequest(std::move(request));
  }
  if (tool == "sql.list_tables") {
    RETURN_IF_ERROR(check_members(call.args, {}));
    return SqlRequest(ListRequest{});
  }
  if (tool == "sql.load" && !options.data_dir.empty()) {
    RETURN_IF_ERROR(check_members(call.args, {"file", "table", "replace"}));
    ASSIGN_OR_RETURN(LoadRequest request, load(fields));
    request.run = run;
    return SqlRequest(std::move(request));
  }
  if (tool == "sql.unload" && !options.data_dir.empty()) {
    RETURN_IF_ERROR(check_members(call.args, {"table"}));
    ASSIGN_OR_RETURN(DescribeRequest named, describe(fields));
    return SqlRequest(UnloadRequest{std::move(named.table), run});
  }
  return base::fail(base::ErrorKind::kNotFound, "there is no such tool");
}

}  // namespace

Outcome<SqlRequest> sql_request(const Invocation& call, const SqlOptions& options) {
  auto request = request_of(call, options, base::json::Value(call.args));
  if (request) return *std::move(request);
  switch (request.error().kind()) {
    case base::ErrorKind::kNotFound: return refuse(Code::kTool, request.error().message());
    case base::ErrorKind::kTooLarge: return refuse(Code::kLimit, request.error().message());
    default: return shape(request.error());
  }
}

}  // namespace tool::connectors
