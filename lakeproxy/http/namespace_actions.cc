#include "base/json/fields.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"
#include "lakeproxy/operation/namespaces.h"

namespace lake::http {
namespace {

namespace json = base::json;

json::Value properties_json(const std::map<std::string, std::string>& properties) {
  json::Object object;
  for (const auto& [key, value] : properties) object[key] = value;
  return object;
}

base::Result<operation::CreateNamespace> parse_create(const json::Value& body) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, "body"));
  ASSIGN_OR_RETURN(auto levels, fields.strings("namespace"));
  auto name = model::make_namespace(std::move(levels));
  if (!name) return std::move(name).error().with_context("namespace");
  ASSIGN_OR_RETURN(auto properties, fields.opt_string_map("properties"));
  return operation::CreateNamespace{std::move(*name), std::move(properties)};
}

base::Result<operation::ChangeNamespace> parse_change(const Call& call, const json::Value& body) {
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

}  // namespace

ActionResult list_namespaces(base::RequestContext context, Call call) {
  operation::ListNamespaces list;
  if (auto parent = call.request->query("parent"); parent && !parent->empty()) {
    CO_ASSIGN_OR_RETURN(list.parent, model::parse_namespace(*parent));
  }
  CO_ASSIGN_OR_RETURN(list.paging, paging_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(list)));
  CO_ASSIGN_OR_RETURN(
      auto page, co_await operation::list_namespaces(context, call.catalog(), std::move(request)));
  json::Array names;
  for (const auto& name : page.items) names.push_back(to_json(name));
  json::Object body{{"namespaces", std::move(names)}};
  body["next-page-token"] = page_token(page.next);
  co_return json_response(200, json::Value(std::move(body)));
}

// The answer says what was asked for.
ActionResult created_namespace(base::RequestContext, Call call) {
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto create, parse_create(body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(create)));
  json::Object answer{{"namespace", to_json(request->name)},
                      {"properties", properties_json(request->properties)}};
  co_return json_response(200, json::Value(std::move(answer)));
}

ActionResult create_namespace(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto create, parse_create(body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(create)));
  CO_RETURN_IF_ERROR(
      co_await operation::create_namespace(context, call.catalog(), std::move(request)));
  co_return co_await created_namespace(context, std::move(call));
}

ActionResult load_namespace(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadNamespace{std::move(name)}));
  CO_ASSIGN_OR_RETURN(
      auto info, co_await operation::load_namespace(context, call.catalog(), std::move(request)));
  // Trino makes a table in one step only where the namespace says where its tables lie.
  info.properties.try_emplace("location", info.location);
  json::Object answer{{"namespace", to_json(info.name)},
                      {"properties", properties_json(info.properties)}};
  co_return json_response(200, json::Value(std::move(answer)));
}

ActionResult namespace_exists(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadNamespace{std::move(name)}));
  CO_RETURN_IF_ERROR(
      co_await operation::load_namespace(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult drop_namespace(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::DropNamespace{std::move(name)}));
  CO_RETURN_IF_ERROR(
      co_await operation::drop_namespace(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult update_namespace_properties(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto change, parse_change(call, body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(change)));
  CO_ASSIGN_OR_RETURN(auto changes, co_await operation::change_namespace(context, call.catalog(),
                                                                         std::move(request)));
  co_return json_response(200, ducklake::to_json(changes));
}

}  // namespace lake::http
