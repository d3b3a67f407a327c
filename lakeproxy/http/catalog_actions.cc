#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {

base::Result<operation::CreateCatalog> create_catalog_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto catalog, model::registered_catalog_from_json(body));
  return operation::CreateCatalog{std::move(catalog)};
}

ActionResult create_catalog(RequestContext context, Call* call,
                            Authorized<operation::CreateCatalog> request) {
  base::json::Value made = to_json(request->catalog);
  if (audit::AuditTrail* trail = call->services->home->audit) {
    auto record = audit::record_of(request.principal(), "create_catalog",
                                   request->catalog.catalog_id, "allowed");
    record.detail = base::json::write(made);
    CO_RETURN_IF_ERROR(co_await trail->write(context, std::move(record)));
  }
  CO_RETURN_IF_ERROR(
      co_await operation::create_catalog(context, call->services->registry, std::move(request)));
  co_return json_response(201, made);
}

base::Result<operation::ListCatalogs> list_catalogs_of(const Call& call) {
  ASSIGN_OR_RETURN(auto paging, paging_of(call));
  return operation::ListCatalogs{std::move(paging)};
}

ActionResult list_catalogs(RequestContext context, Call* call,
                           Authorized<operation::ListCatalogs> request) {
  CO_ASSIGN_OR_RETURN(auto page, co_await operation::list_catalogs(
                                     context, call->services->registry, std::move(request)));
  base::json::Array listed;
  for (const model::RegisteredCatalog& catalog : page.items) listed.push_back(to_json(catalog));
  base::json::Object body{{"catalogs", std::move(listed)}};
  body["next-page-token"] = page_token(page.next);
  co_return json_response(200, base::json::Value(std::move(body)));
}

}  // namespace lake::http
