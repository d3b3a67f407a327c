#include "base/json/fields.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"
#include "lakeproxy/iceberg/view/view_update_json.h"
#include "lakeproxy/operation/views.h"

namespace lake::http {
namespace {

namespace json = base::json;

// Joined by hand: the document is written already.
base::http::Response view_response(const operation::ViewAnswer& view) {
  std::string body = R"({"metadata-location":)";
  json::append_quoted(body, view.location);
  body.append(R"(,"metadata":)").append(view.bytes).append(R"(,"config":{}})");
  return json_response(200, base::http::Body(std::move(body)));
}

base::Result<model::TableIdentifier> view_of(const Call& call) {
  ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  return model::TableIdentifier{std::move(name_space), call.parameter("view")};
}

ActionResult tell_view(base::RequestContext context, Call call, model::TableIdentifier identifier) {
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadView{std::move(identifier)}));
  CO_ASSIGN_OR_RETURN(auto view,
                      co_await operation::load_view(context, call.catalog(), std::move(request)));
  co_return view_response(view);
}

}  // namespace

ActionResult list_views(base::RequestContext context, Call call) {
  operation::ListViews list;
  CO_ASSIGN_OR_RETURN(list.name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(list.paging, paging_of(call));
  auto name_space = list.name_space;
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(list)));
  CO_ASSIGN_OR_RETURN(auto page,
                      co_await operation::list_views(context, call.catalog(), std::move(request)));
  co_return identifiers_response(name_space, page);
}

// What is made and what is registered have the view's name in the same member.
ActionResult created_view(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, ""));
  CO_ASSIGN_OR_RETURN(auto name, fields.string("name"));
  co_return co_await tell_view(context, std::move(call), {std::move(name_space), std::move(name)});
}

ActionResult create_view(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto view, model::create_view_from_json(body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::CreateViewIn{std::move(name_space),
                                                                             std::move(view)}));
  CO_ASSIGN_OR_RETURN(auto created,
                      co_await operation::create_view(context, call.catalog(), std::move(request)));
  co_return view_response(created);
}

ActionResult load_view(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, view_of(call));
  co_return co_await tell_view(context, std::move(call), std::move(identifier));
}

ActionResult view_exists(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, view_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadView{std::move(identifier)}));
  CO_RETURN_IF_ERROR(co_await operation::view_exists(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult replace_view(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, view_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto commit, model::view_commit_from_json(body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::ReplaceView{std::move(identifier),
                                                                            std::move(commit)}));
  CO_ASSIGN_OR_RETURN(
      auto view, co_await operation::replace_view(context, call.catalog(), std::move(request)));
  co_return view_response(view);
}

ActionResult drop_view(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, view_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::DropView{std::move(identifier)}));
  CO_RETURN_IF_ERROR(co_await operation::drop_view(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult rename_view(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto renaming, renaming_of(body));
  CO_ASSIGN_OR_RETURN(auto request,
                      authorized(call, operation::RenameView{std::move(renaming.source),
                                                             std::move(renaming.destination)}));
  CO_RETURN_IF_ERROR(co_await operation::rename_view(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult register_view(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto view, model::register_view_from_json(body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::RegisterViewIn{
                                                         std::move(name_space), std::move(view)}));
  CO_ASSIGN_OR_RETURN(auto registered, co_await operation::register_view(context, call.catalog(),
                                                                         std::move(request)));
  co_return view_response(registered);
}

}  // namespace lake::http
