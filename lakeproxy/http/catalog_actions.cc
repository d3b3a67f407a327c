#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"
#include "lakeproxy/operation/catalogs.h"

namespace lake::http {

ActionResult create_catalog(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto catalog, model::registered_catalog_from_json(body));
  base::json::Value made = to_json(catalog);
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::CreateCatalog{std::move(catalog)}));
  CO_RETURN_IF_ERROR(
      co_await operation::create_catalog(context, call.services->registry, std::move(request)));
  co_return json_response(201, made);
}

}  // namespace lake::http
