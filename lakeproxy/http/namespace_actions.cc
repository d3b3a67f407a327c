#include "base/json/fields.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

namespace json = base::json;

json::Value properties_json(const std::map<std::string, std::string>& properties) {
  json::Object object;
  for (const auto& [key, value] : properties) object[key] = value;
  return object;
}

json::Value answer_of(const operation::CreateNamespace& created) {
  return json::Object{{"namespace", to_json(created.name)},
                      {"properties", properties_json(created.properties)}};
}

}  // namespace

base::Result<operation::ListNamespaces> list_namespaces_of(const Call& call) {
  operation::ListNamespaces list;
  if (auto parent = call.request->query("parent"); parent && !parent->empty()) {
    ASSIGN_OR_RETURN(list.parent, model::parse_namespace(*parent));
  }
  ASSIGN_OR_RETURN(list.paging, paging_of(call));
  return list;
}

ActionResult list_namespaces(RequestContext context, Call* call,
                             Authorized<operation::ListNamespaces> request) {
  CO_ASSIGN_OR_RETURN(
      auto page, co_await operation::list_namespaces(context, call->catalog(), std::move(request)));
  json::Array names;
  for (const auto& name : page.items) names.push_back(to_json(name));
  json::Object body{{"namespaces", std::move(names)}};
  body["next-page-token"] = page_token(page.next);
  co_return json_response(200, json::Value(std::move(body)));
}

base::Result<operation::CreateNamespace> create_namespace_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, "body"));
  ASSIGN_OR_RETURN(auto levels, fields.strings("namespace"));
  auto name = model::make_namespace(std::move(levels));
  if (!name) return std::move(name).error().with_context("namespace");
  ASSIGN_OR_RETURN(auto properties, fields.opt_string_map("properties"));
  return operation::CreateNamespace{std::move(*name), std::move(properties)};
}

// The answer says what was asked for.
ActionResult created_namespace(RequestContext, Call*,
                               Authorized<operation::CreateNamespace> request) {
  co_return json_response(200, answer_of(*request));
}

ActionResult create_namespace(RequestContext context, Call* call,
                              Authorized<operation::CreateNamespace> request) {
  CO_RETURN_IF_ERROR(co_await operation::create_namespace(context, call->catalog(), request));
  co_return json_response(200, answer_of(*request));
}

base::Result<operation::LoadNamespace> load_namespace_of(const Call& call) {
  ASSIGN_OR_RETURN(auto name, namespace_of(call));
  return operation::LoadNamespace{std::move(name)};
}

ActionResult load_namespace(RequestContext context, Call* call,
                            Authorized<operation::LoadNamespace> request) {
  CO_ASSIGN_OR_RETURN(
      auto info, co_await operation::load_namespace(context, call->catalog(), std::move(request)));
  // Trino makes a table in one step only where the namespace says where its tables lie.
  info.properties.try_emplace("location", info.location);
  json::Object answer{{"namespace", to_json(info.name)},
                      {"properties", properties_json(info.properties)}};
  co_return json_response(200, json::Value(std::move(answer)));
}

ActionResult namespace_exists(RequestContext context, Call* call,
                              Authorized<operation::LoadNamespace> request) {
  CO_RETURN_IF_ERROR(
      co_await operation::load_namespace(context, call->catalog(), std::move(request)));
  co_return no_content();
}

// DuckDB's macros have no type of their result, which a function of Iceberg's needs: it depends on
// who calls them (docs/adr/0099).
ActionResult list_functions(RequestContext context, Call* call,
                            Authorized<operation::LoadNamespace> request) {
  CO_RETURN_IF_ERROR(
      co_await operation::load_namespace(context, call->catalog(), std::move(request)));
  json::Object body{{"identifiers", json::Array()}};
  body["next-page-token"] = nullptr;
  co_return json_response(200, json::Value(std::move(body)));
}

ActionResult load_function(RequestContext context, Call* call,
                           Authorized<operation::LoadNamespace> request) {
  CO_RETURN_IF_ERROR(
      co_await operation::load_namespace(context, call->catalog(), std::move(request)));
  co_return base::fail(base::ErrorKind::kNotFound,
                       "Function does not exist: " + call->parameter("function"))
      .with_reason(operation::kNoSuchFunction);
}

base::Result<operation::DropNamespace> drop_namespace_of(const Call& call) {
  ASSIGN_OR_RETURN(auto name, namespace_of(call));
  return operation::DropNamespace{std::move(name)};
}

ActionResult drop_namespace(RequestContext context, Call* call,
                            Authorized<operation::DropNamespace> request) {
  CO_RETURN_IF_ERROR(
      co_await operation::drop_namespace(context, call->catalog(), std::move(request)));
  co_return no_content();
}

base::Result<operation::ChangeNamespace> change_namespace_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  operation::ChangeNamespace change;
  ASSIGN_OR_RETURN(change.name, namespace_of(call));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, "body"));
  if (!fields.has("removals") && !fields.has("updates")) {
    return base::fail(base::ErrorKind::kInvalid, "body: needs removals or updates");
  }
  if (fields.has("removals")) {
    ASSIGN_OR_RETURN(change.removals, fields.strings("removals"));
  }
  ASSIGN_OR_RETURN(change.updates, fields.opt_string_map("updates"));
  for (const auto& key : change.removals) {
    if (change.updates.contains(key)) {
      return base::fail(base::ErrorKind::kInvalid,
                        "body: a key must not be in removals and in updates: " + key)
          .with_reason(kUnprocessable);
    }
  }
  return change;
}

ActionResult change_namespace(RequestContext context, Call* call,
                              Authorized<operation::ChangeNamespace> request) {
  CO_ASSIGN_OR_RETURN(auto changes, co_await operation::change_namespace(context, call->catalog(),
                                                                         std::move(request)));
  co_return json_response(200, ducklake::to_json(changes));
}

}  // namespace lake::http
