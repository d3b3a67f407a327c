#include "lakeproxy/http/wire.h"

#include <boost/algorithm/string/predicate.hpp>

#include "base/core/text.h"
#include "base/json/fields.h"
#include "base/json/zero_escape.h"
#include "lakeproxy/iceberg/update/table_update_json.h"

namespace lake::http {
namespace {

// Tells a token of ours from a guess.
constexpr std::string_view kTokenMark = "after:";
constexpr std::size_t kMostFormFields = 32;

}  // namespace

base::http::Response json_response(unsigned status, base::http::Body body) {
  base::http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

base::http::Response json_response(unsigned status, const base::json::Value& value) {
  return json_response(status, base::http::Body(base::json::write(value)));
}

base::http::Response no_content() {
  base::http::Response response;
  response.status = 204;
  return response;
}

base::Result<base::json::Value> body_of(const Call& call) {
  return body_of(call, base::json::Limits{}.depth);
}

base::Result<base::json::Value> body_of(const Call& call, std::size_t depth) {
  if (call.request->body.empty()) {
    return base::fail(base::ErrorKind::kInvalid, "body: a JSON object is required");
  }
  // The size in bytes was checked on the way in; what is left is the shape.
  auto json =
      base::json::parse(call.request->body, {.bytes = call.request->body.size(), .depth = depth});
  if (!json) {
    return base::fail(base::ErrorKind::kInvalid, json.error().message()).with_context("body");
  }
  if (base::json::has_zero_escape(call.request->body)) {
    return base::fail(base::ErrorKind::kInvalid, "body: \\u0000 must stand in no name and no text");
  }
  return json;
}

base::Result<std::map<std::string, std::string, std::less<>>> form_of(const Call& call) {
  std::map<std::string, std::string, std::less<>> fields;
  std::string_view rest = call.request->body;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto name = base::http::decode_form(pair.substr(0, equals));
    auto value = equals == std::string_view::npos
                     ? std::optional<std::string>("")
                     : base::http::decode_form(pair.substr(equals + 1));
    if (!name || !value) {
      return base::fail(base::ErrorKind::kInvalid, "body: '%' must begin two hexadecimal digits");
    }
    if (fields.size() == kMostFormFields) {
      return base::fail(base::ErrorKind::kInvalid, "body: too many fields");
    }
    if (!fields.emplace(std::move(*name), std::move(*value)).second) {
      return base::fail(base::ErrorKind::kInvalid, "body: a field comes twice");
    }
  }
  return fields;
}

base::Result<model::Namespace> namespace_of(const Call& call) {
  auto name = model::parse_namespace(call.parameter("namespace"));
  if (!name) return std::move(name).error().with_context("namespace");
  return name;
}

base::Result<model::TableIdentifier> table_of(const Call& call) {
  ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  return model::TableIdentifier{std::move(name_space), call.parameter("table")};
}

base::Result<operation::Paging> paging_of(const Call& call) {
  operation::Paging paging;
  if (auto token = call.request->query("pageToken")) {
    if (!token->empty() && !token->starts_with(kTokenMark)) {
      return base::fail(base::ErrorKind::kInvalid, "pageToken: must be one that was given");
    }
    paging.token = token->empty() ? "" : token->substr(kTokenMark.size());
  }
  if (auto size = call.request->query("pageSize")) {
    auto number = base::parse_int64(*size);
    if (!number || *number < 1 || *number > 10'000) {
      return base::fail(base::ErrorKind::kInvalid, "pageSize: must be a number from 1 to 10000");
    }
    paging.size = static_cast<std::size_t>(*number);
    // A client that names a size pages, also on its first request.
    if (!paging.token) paging.token = "";
  }
  return paging;
}

base::Result<bool> flag_of(const Call& call, std::string_view name, bool absent) {
  auto text = call.request->query(name);
  if (!text) return absent;
  if (boost::algorithm::iequals(*text, "true")) return true;
  if (boost::algorithm::iequals(*text, "false")) return false;
  return base::fail(base::ErrorKind::kInvalid, std::string(name) + ": must be true or false");
}

base::json::Value page_token(const std::optional<std::string>& next) {
  if (!next) return nullptr;
  return base::json::Value(std::string(kTokenMark) + *next);
}

base::json::Value to_json(const model::Namespace& name) {
  base::json::Array levels;
  for (const auto& level : name.levels) levels.emplace_back(level);
  return levels;
}

base::http::Response identifiers_response(const model::Namespace& name_space,
                                          const ducklake::Page<std::string>& names) {
  auto levels = to_json(name_space);
  base::json::Array identifiers;
  for (const auto& name : names.items) {
    identifiers.push_back(base::json::Object{{"namespace", levels}, {"name", name}});
  }
  base::json::Object body{{"identifiers", std::move(identifiers)}};
  body["next-page-token"] = page_token(names.next);
  return json_response(200, base::json::Value(std::move(body)));
}

base::Result<Renaming> renaming_of(const base::json::Value& body) {
  ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(body, "body"));
  ASSIGN_OR_RETURN(auto source, fields.object("source"));
  ASSIGN_OR_RETURN(auto destination, fields.object("destination"));
  Renaming renaming;
  ASSIGN_OR_RETURN(renaming.source, model::table_identifier_from_json(source));
  ASSIGN_OR_RETURN(renaming.destination, model::table_identifier_from_json(destination));
  return renaming;
}

}  // namespace lake::http
