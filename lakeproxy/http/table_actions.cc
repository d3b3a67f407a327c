#include "base/json/fields.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/table_answer.h"
#include "lakeproxy/http/wire.h"
#include "lakeproxy/iceberg/update/table_update_json.h"
#include "lakeproxy/operation/tables.h"

namespace lake::http {
namespace {

namespace json = base::json;

base::Result<operation::DropTable> drop_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  ASSIGN_OR_RETURN(bool purge, flag_of(call, "purgeRequested", false));
  return operation::DropTable{std::move(identifier),
                              purge ? operation::Purge::kYes : operation::Purge::kNo};
}

}  // namespace

ActionResult list_tables(base::RequestContext context, Call call) {
  operation::ListTables list;
  CO_ASSIGN_OR_RETURN(list.name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(list.paging, paging_of(call));
  auto name_space = list.name_space;
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(list)));
  CO_ASSIGN_OR_RETURN(auto page,
                      co_await operation::list_tables(context, call.catalog(), std::move(request)));
  co_return identifiers_response(name_space, page);
}

ActionResult create_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto table, model::create_table_from_json(body));
  model::TableIdentifier identifier{name_space, table.name};
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::CreateTableIn{std::move(name_space),
                                                                              std::move(table)}));
  CO_ASSIGN_OR_RETURN(
      auto created, co_await operation::create_table(context, call.catalog(), std::move(request)));
  if (created.staged_body) {
    co_return json_response(200, base::http::Body(std::move(*created.staged_body)));
  }
  co_return co_await view_response(context, std::move(call), std::move(identifier),
                                   std::move(created.loaded));
}

ActionResult commit_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto commit, model::table_commit_from_json(body));
  CO_ASSIGN_OR_RETURN(auto request,
                      authorized(call, operation::CommitTable{identifier, std::move(commit)}));
  CO_ASSIGN_OR_RETURN(
      auto loaded, co_await operation::commit_table(context, call.catalog(), std::move(request)));
  co_return co_await view_response(context, std::move(call), std::move(identifier),
                                   std::move(loaded));
}

ActionResult commit_transaction(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto commits, model::transaction_from_json(body));
  CO_ASSIGN_OR_RETURN(auto request,
                      authorized(call, operation::CommitTransaction{std::move(commits)}));
  CO_RETURN_IF_ERROR(
      co_await operation::commit_transaction(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult drop_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto drop, drop_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(drop)));
  CO_RETURN_IF_ERROR(co_await operation::drop_table(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult dropped_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto drop, drop_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(drop)));
  CO_RETURN_IF_ERROR(co_await operation::finish_drop(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult register_table(base::RequestContext context, Call call) {
  operation::RegisterTable table;
  CO_ASSIGN_OR_RETURN(table.identifier.name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, ""));
  CO_ASSIGN_OR_RETURN(table.identifier.name, fields.string("name"));
  CO_ASSIGN_OR_RETURN(table.metadata_location, fields.string("metadata-location"));
  CO_ASSIGN_OR_RETURN(auto overwrite, fields.opt_boolean("overwrite"));
  if (overwrite.value_or(false)) table.existing = ducklake::Existing::kReplaced;
  model::TableIdentifier identifier = table.identifier;
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(table)));
  CO_ASSIGN_OR_RETURN(
      auto loaded, co_await operation::register_table(context, call.catalog(), std::move(request)));
  co_return co_await view_response(context, std::move(call), std::move(identifier),
                                   std::move(loaded));
}

ActionResult unregister_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto request,
                      authorized(call, operation::UnregisterTable{std::move(identifier)}));
  CO_ASSIGN_OR_RETURN(
      auto body, co_await operation::unregister_table(context, call.catalog(), std::move(request)));
  co_return json_response(200, base::http::Body(std::move(body)));
}

ActionResult rename_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto renaming, renaming_of(body));
  CO_ASSIGN_OR_RETURN(auto request,
                      authorized(call, operation::RenameTable{std::move(renaming.source),
                                                              std::move(renaming.destination)}));
  CO_RETURN_IF_ERROR(co_await operation::rename_table(context, call.catalog(), std::move(request)));
  co_return no_content();
}

}  // namespace lake::http
