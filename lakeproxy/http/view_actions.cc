#include "base/json/json.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"
#include "lakeproxy/iceberg/view/view_update_json.h"

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

ActionResult tell_view(RequestContext context, Call* call,
                       Authorized<operation::LoadView> request) {
  CO_ASSIGN_OR_RETURN(auto view,
                      co_await operation::load_view(context, call->catalog(), std::move(request)));
  co_return view_response(view);
}

// The view that a change has made, for its client.
template <class T>
ActionResult tell_made(RequestContext context, Call* call, const Authorized<T>& request,
                       model::TableIdentifier identifier) {
  return tell_view(context, call, request.part(operation::LoadView{std::move(identifier)}));
}

}  // namespace

base::Result<operation::ListViews> list_views_of(const Call& call) {
  operation::ListViews list;
  ASSIGN_OR_RETURN(list.name_space, namespace_of(call));
  ASSIGN_OR_RETURN(list.paging, paging_of(call));
  return list;
}

ActionResult list_views(RequestContext context, Call* call,
                        Authorized<operation::ListViews> request) {
  CO_ASSIGN_OR_RETURN(auto page, co_await operation::list_views(context, call->catalog(), request));
  co_return identifiers_response(request->name_space, page);
}

base::Result<operation::CreateViewIn> create_view_of(const Call& call) {
  ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto view, model::create_view_from_json(body));
  return operation::CreateViewIn{std::move(name_space), std::move(view)};
}

ActionResult create_view(RequestContext context, Call* call,
                         Authorized<operation::CreateViewIn> request) {
  CO_ASSIGN_OR_RETURN(
      auto created, co_await operation::create_view(context, call->catalog(), std::move(request)));
  co_return view_response(created);
}

ActionResult created_view(RequestContext context, Call* call,
                          Authorized<operation::CreateViewIn> request) {
  return tell_made(context, call, request, {request->name_space, request->view.name});
}

base::Result<operation::LoadView> load_view_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, view_of(call));
  return operation::LoadView{std::move(identifier)};
}

ActionResult load_view(RequestContext context, Call* call,
                       Authorized<operation::LoadView> request) {
  return tell_view(context, call, std::move(request));
}

ActionResult view_exists(RequestContext context, Call* call,
                         Authorized<operation::LoadView> request) {
  CO_RETURN_IF_ERROR(co_await operation::view_exists(context, call->catalog(), std::move(request)));
  co_return no_content();
}

base::Result<operation::ReplaceView> replace_view_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, view_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto commit, model::view_commit_from_json(body));
  return operation::ReplaceView{std::move(identifier), std::move(commit)};
}

ActionResult replace_view(RequestContext context, Call* call,
                          Authorized<operation::ReplaceView> request) {
  CO_ASSIGN_OR_RETURN(
      auto view, co_await operation::replace_view(context, call->catalog(), std::move(request)));
  co_return view_response(view);
}

ActionResult replaced_view(RequestContext context, Call* call,
                           Authorized<operation::ReplaceView> request) {
  return tell_made(context, call, request, request->identifier);
}

base::Result<operation::DropView> drop_view_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, view_of(call));
  return operation::DropView{std::move(identifier)};
}

ActionResult drop_view(RequestContext context, Call* call,
                       Authorized<operation::DropView> request) {
  CO_RETURN_IF_ERROR(co_await operation::drop_view(context, call->catalog(), std::move(request)));
  co_return no_content();
}

base::Result<operation::RenameView> rename_view_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto renaming, renaming_of(body));
  return operation::RenameView{std::move(renaming.source), std::move(renaming.destination)};
}

ActionResult rename_view(RequestContext context, Call* call,
                         Authorized<operation::RenameView> request) {
  CO_RETURN_IF_ERROR(co_await operation::rename_view(context, call->catalog(), std::move(request)));
  co_return no_content();
}

base::Result<operation::RegisterViewIn> register_view_of(const Call& call) {
  ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto view, model::register_view_from_json(body));
  return operation::RegisterViewIn{std::move(name_space), std::move(view)};
}

ActionResult register_view(RequestContext context, Call* call,
                           Authorized<operation::RegisterViewIn> request) {
  CO_ASSIGN_OR_RETURN(auto registered, co_await operation::register_view(context, call->catalog(),
                                                                         std::move(request)));
  co_return view_response(registered);
}

ActionResult registered_view(RequestContext context, Call* call,
                             Authorized<operation::RegisterViewIn> request) {
  return tell_made(context, call, request, {request->name_space, request->view.name});
}

}  // namespace lake::http
