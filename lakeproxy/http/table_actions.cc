#include "base/json/fields.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/table_answer.h"
#include "lakeproxy/http/wire.h"
#include "lakeproxy/iceberg/update/table_update_json.h"

namespace lake::http {
namespace {

// The table that a change has made, for its client.
template <class T>
ActionResult tell_made(RequestContext context, Call* call, const Authorized<T>& request,
                       model::TableIdentifier identifier) {
  return tell_table(context, call, request.part(operation::LoadTable{std::move(identifier)}));
}

// A table that is not made yet: who cannot get keys to its folder need not begin.
ActionResult tell_staged(RequestContext context, Call* call,
                         Authorized<operation::CreateTableIn> request,
                         operation::CreatedTable created) {
  delegation::ClientAccessPtr access;
  const delegation::Asked asked = asked_of(*call);
  if (auto* delegation = call->catalog()->delegation; delegation != nullptr && !asked.nothing()) {
    delegation::ClientTable table{.identifier = {request->name_space, request->table.name},
                                  .seen = {},
                                  .staged_location = std::move(created.staged_location),
                                  .staged = created.staged_uuid};
    CO_ASSIGN_OR_RETURN(access, co_await delegation->for_client(
                                    context, call->catalog(), call->principal, std::move(table),
                                    asked, delegation::Occasion::kChange));
  }
  if (access != nullptr) created.staged.end = access->config->text;
  auto response = json_response(200, body_of(std::move(created.staged)));
  if (access != nullptr) response.headers.add("Cache-Control", "no-store");
  co_return response;
}

}  // namespace

base::Result<operation::ListTables> list_tables_of(const Call& call) {
  operation::ListTables list;
  ASSIGN_OR_RETURN(list.name_space, namespace_of(call));
  ASSIGN_OR_RETURN(list.paging, paging_of(call));
  return list;
}

ActionResult list_tables(RequestContext context, Call* call,
                         Authorized<operation::ListTables> request) {
  CO_ASSIGN_OR_RETURN(auto page,
                      co_await operation::list_tables(context, call->catalog(), request));
  co_return identifiers_response(request->name_space, page);
}

base::Result<operation::CreateTableIn> create_table_of(const Call& call) {
  ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto table, model::create_table_from_json(body));
  return operation::CreateTableIn{std::move(name_space), std::move(table)};
}

ActionResult create_table(RequestContext context, Call* call,
                          Authorized<operation::CreateTableIn> request) {
  CO_ASSIGN_OR_RETURN(auto created,
                      co_await operation::create_table(context, call->catalog(), request));
  if (!created.table) co_return co_await tell_staged(context, call, request, std::move(created));
  co_return co_await view_response(context, call, {request->name_space, request->table.name},
                                   std::move(*created.table));
}

ActionResult created_table(RequestContext context, Call* call,
                           Authorized<operation::CreateTableIn> request) {
  return tell_made(context, call, request, {request->name_space, request->table.name});
}

base::Result<operation::CommitTable> commit_table_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto commit, model::table_commit_from_json(body));
  operation::drop_mask_notes(commit);
  return operation::CommitTable{std::move(identifier), std::move(commit)};
}

ActionResult commit_table(RequestContext context, Call* call,
                          Authorized<operation::CommitTable> request) {
  CO_ASSIGN_OR_RETURN(auto table,
                      co_await operation::commit_table(context, call->catalog(), request));
  co_return co_await view_response(context, call, request->identifier, std::move(table));
}

ActionResult committed_table(RequestContext context, Call* call,
                             Authorized<operation::CommitTable> request) {
  return tell_made(context, call, request, request->identifier);
}

base::Result<operation::CommitTransaction> commit_transaction_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto commits, model::transaction_from_json(body));
  for (auto& commit : commits) operation::drop_mask_notes(commit);
  return operation::CommitTransaction{std::move(commits)};
}

ActionResult commit_transaction(RequestContext context, Call* call,
                                Authorized<operation::CommitTransaction> request) {
  CO_RETURN_IF_ERROR(
      co_await operation::commit_transaction(context, call->catalog(), std::move(request)));
  co_return no_content();
}

base::Result<operation::DropTable> drop_table_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  ASSIGN_OR_RETURN(bool purge, flag_of(call, "purgeRequested", false));
  return operation::DropTable{std::move(identifier),
                              purge ? operation::Purge::kYes : operation::Purge::kNo};
}

ActionResult drop_table(RequestContext context, Call* call,
                        Authorized<operation::DropTable> request) {
  CO_RETURN_IF_ERROR(co_await operation::drop_table(context, call->catalog(), std::move(request)));
  co_return no_content();
}

ActionResult dropped_table(RequestContext context, Call* call,
                           Authorized<operation::DropTable> request) {
  CO_RETURN_IF_ERROR(co_await operation::finish_drop(context, call->catalog(), std::move(request)));
  co_return no_content();
}

base::Result<operation::RegisterTable> register_table_of(const Call& call) {
  operation::RegisterTable table;
  ASSIGN_OR_RETURN(table.identifier.name_space, namespace_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(body, ""));
  ASSIGN_OR_RETURN(table.identifier.name, fields.string("name"));
  ASSIGN_OR_RETURN(table.metadata_location, fields.string("metadata-location"));
  ASSIGN_OR_RETURN(auto overwrite, fields.opt_boolean("overwrite"));
  if (overwrite.value_or(false)) table.existing = ducklake::Existing::kReplaced;
  return table;
}

ActionResult register_table(RequestContext context, Call* call,
                            Authorized<operation::RegisterTable> request) {
  CO_ASSIGN_OR_RETURN(auto table,
                      co_await operation::register_table(context, call->catalog(), request));
  co_return co_await view_response(context, call, request->identifier, std::move(table));
}

ActionResult registered_table(RequestContext context, Call* call,
                              Authorized<operation::RegisterTable> request) {
  return tell_made(context, call, request, request->identifier);
}

base::Result<operation::UnregisterTable> unregister_table_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  return operation::UnregisterTable{std::move(identifier)};
}

ActionResult unregister_table(RequestContext context, Call* call,
                              Authorized<operation::UnregisterTable> request) {
  CO_ASSIGN_OR_RETURN(auto body, co_await operation::unregister_table(context, call->catalog(),
                                                                      std::move(request)));
  co_return json_response(200, base::http::Body(std::move(body)));
}

base::Result<operation::RenameTable> rename_table_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto renaming, renaming_of(body));
  return operation::RenameTable{std::move(renaming.source), std::move(renaming.destination)};
}

ActionResult rename_table(RequestContext context, Call* call,
                          Authorized<operation::RenameTable> request) {
  CO_RETURN_IF_ERROR(
      co_await operation::rename_table(context, call->catalog(), std::move(request)));
  co_return no_content();
}

}  // namespace lake::http
