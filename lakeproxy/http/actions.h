#pragma once

// The actions of the routes: wire form in, operation, wire form out.

#include "lakeproxy/http/route.h"

namespace lake::http {

using ActionResult = base::Task<base::Result<base::http::Response>>;

// service_actions.cc
ActionResult get_health(base::RequestContext context, Call call);
ActionResult get_ready(base::RequestContext context, Call call);
ActionResult get_metrics(base::RequestContext context, Call call);
ActionResult get_openapi(base::RequestContext context, Call call);
ActionResult get_config(base::RequestContext context, Call call);

// catalog_actions.cc
ActionResult create_catalog(base::RequestContext context, Call call);

// namespace_actions.cc
ActionResult list_namespaces(base::RequestContext context, Call call);
ActionResult create_namespace(base::RequestContext context, Call call);
ActionResult load_namespace(base::RequestContext context, Call call);
ActionResult namespace_exists(base::RequestContext context, Call call);
ActionResult drop_namespace(base::RequestContext context, Call call);
ActionResult update_namespace_properties(base::RequestContext context, Call call);

// table_actions.cc
ActionResult list_tables(base::RequestContext context, Call call);
ActionResult create_table(base::RequestContext context, Call call);
ActionResult commit_table(base::RequestContext context, Call call);
ActionResult commit_transaction(base::RequestContext context, Call call);
ActionResult drop_table(base::RequestContext context, Call call);
ActionResult rename_table(base::RequestContext context, Call call);
ActionResult register_table(base::RequestContext context, Call call);
ActionResult unregister_table(base::RequestContext context, Call call);

// load_actions.cc
ActionResult load_table(base::RequestContext context, Call call);
ActionResult table_exists(base::RequestContext context, Call call);
ActionResult report_metrics(base::RequestContext context, Call call);
ActionResult load_credentials(base::RequestContext context, Call call);

// What a change answers that was made before: by its request and the state.
ActionResult created_namespace(base::RequestContext context, Call call);
ActionResult created_table(base::RequestContext context, Call call);
ActionResult committed_table(base::RequestContext context, Call call);
ActionResult dropped_table(base::RequestContext context, Call call);
ActionResult created_view(base::RequestContext context, Call call);

// upkeep_actions.cc
ActionResult compact_table(base::RequestContext context, Call call);

// view_actions.cc
ActionResult list_views(base::RequestContext context, Call call);
ActionResult create_view(base::RequestContext context, Call call);
ActionResult load_view(base::RequestContext context, Call call);
ActionResult view_exists(base::RequestContext context, Call call);
ActionResult replace_view(base::RequestContext context, Call call);
ActionResult drop_view(base::RequestContext context, Call call);
ActionResult rename_view(base::RequestContext context, Call call);
ActionResult register_view(base::RequestContext context, Call call);

}  // namespace lake::http
