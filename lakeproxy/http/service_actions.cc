#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/route_table.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

namespace json = base::json;

base::http::Response text_response(unsigned status, std::string_view type, std::string text) {
  base::http::Response response;
  response.status = status;
  response.headers.add("Content-Type", std::string(type));
  response.body = base::http::Body(std::move(text));
  return response;
}

std::string_view lower(base::http::Method method) {
  switch (method) {
    case base::http::Method::kGet: return "get";
    case base::http::Method::kHead: return "head";
    case base::http::Method::kPost: return "post";
    case base::http::Method::kPut: return "put";
    case base::http::Method::kDelete: return "delete";
    case base::http::Method::kOther: return "options";
  }
  return "";
}

json::Value path_parameters(std::string_view path) {
  json::Array parameters;
  for (std::size_t open = path.find('{'); open != std::string_view::npos;
       open = path.find('{', open + 1)) {
    parameters.push_back(
        json::Object{{"name", path.substr(open + 1, path.find('}', open) - open - 1)},
                     {"in", "path"},
                     {"required", true},
                     {"schema", {{"type", "string"}}}});
  }
  return parameters;
}

}  // namespace

base::Result<AskServer> ask_server_of(const Call&) { return AskServer{}; }

ActionResult get_health(RequestContext, Call*, Authorized<AskServer>) {
  co_return json_response(200, json::Value(json::Object{{"status", "up"}}));
}

ActionResult get_ready(RequestContext context, Call* call, Authorized<AskServer>) {
  CO_RETURN_IF_ERROR(co_await call->services->ready(context));
  co_return json_response(200, json::Value(json::Object{{"status", "ready"}}));
}

ActionResult get_metrics(RequestContext, Call* call, Authorized<AskServer>) {
  co_return text_response(200, "text/plain; version=0.0.4", call->services->metrics->text());
}

// The description names what this server answers; the bodies are Iceberg's own.
ActionResult get_openapi(RequestContext, Call* call, Authorized<AskServer>) {
  json::Object paths;
  for (const Route& route : route_table()) {
    if (route.path.starts_with("/ui")) continue;  // A page for people, no part of the API.
    json::Value& path = paths[route.path];
    if (path.is_null()) path.emplace_object();
    path.as_object()[lower(route.method)] =
        json::Object{{"operationId", route.operation},
                     {"parameters", path_parameters(route.path)},
                     {"responses", {{"default", {{"description", "See the Iceberg REST API."}}}}}};
  }
  json::Object info{{"title", "lakeproxy: an Iceberg REST catalog over DuckLake"},
                    {"version", "1"}};
  json::Object description{{"openapi", "3.1.0"}, {"info", info}, {"paths", std::move(paths)}};
  const std::string& url = call->catalog()->public_url;
  if (!url.empty()) description["servers"] = json::Array{json::Object{{"url", url}}};
  co_return json_response(200, json::Value(std::move(description)));
}

ActionResult get_config(RequestContext context, Call* call, Authorized<AskServer>) {
  std::string catalog = call->catalog()->lake.catalog;
  auto warehouse = call->request->query("warehouse");
  if (warehouse && !warehouse->empty()) {
    CO_RETURN_IF_ERROR(
        co_await reach_catalog(context, call->services, call->principal, *warehouse));
    catalog = *warehouse;
  }
  json::Array endpoints;
  for (const std::string& endpoint : announced_endpoints()) endpoints.emplace_back(endpoint);
  json::Object answer{{"defaults", json::Object{{"warehouse", catalog}}},
                      {"overrides", json::Object{{"prefix", catalog}}},
                      {"endpoints", std::move(endpoints)},
                      {"idempotency-key-lifetime", ducklake::kIdempotencyKeyLifetime}};
  co_return json_response(200, json::Value(std::move(answer)));
}

}  // namespace lake::http
