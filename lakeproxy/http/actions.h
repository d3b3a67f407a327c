#pragma once

// The routes' parts, as endpoint.h puts them together: X_of() reads what a request asks for, X()
// does it once policy has allowed it, and what a change answers that was made before is told by a
// third.

#include "lakeproxy/audit/audit_log.h"
#include "lakeproxy/delegation/remote_signer.h"
#include "lakeproxy/ducklake/registry/static_keys.h"
#include "lakeproxy/governance/governance_objects.h"
#include "lakeproxy/http/route.h"
#include "lakeproxy/operation/catalogs.h"
#include "lakeproxy/operation/compact_table.h"
#include "lakeproxy/operation/effective_policies.h"
#include "lakeproxy/operation/namespaces.h"
#include "lakeproxy/operation/plan_scan.h"
#include "lakeproxy/operation/preview_rows.h"
#include "lakeproxy/operation/tables.h"
#include "lakeproxy/operation/vend_ducklake.h"
#include "lakeproxy/operation/views.h"

namespace lake::http {

using base::RequestContext;
using policy::Authorized;

/// What is told where the answer has no body, and where the record of the change holds it.
template <auto parse>
ActionResult nothing(RequestContext, Call*, Authorized<AskedBy<parse>>) {
  base::http::Response response;
  response.status = 204;
  co_return response;
}

// service_actions.cc

/// A question about the server.
struct AskServer {};
[[nodiscard]] inline policy::Targets targets(const AskServer&) {
  return {policy::Target::server()};
}
base::Result<AskServer> ask_server_of(const Call& call);
ActionResult get_health(RequestContext context, Call* call, Authorized<AskServer> request);
ActionResult get_ready(RequestContext context, Call* call, Authorized<AskServer> request);
ActionResult get_metrics(RequestContext context, Call* call, Authorized<AskServer> request);
ActionResult get_openapi(RequestContext context, Call* call, Authorized<AskServer> request);
ActionResult get_config(RequestContext context, Call* call, Authorized<AskServer> request);

// console_actions.cc

/// A file of the console.
struct AskConsole {
  std::string file;
};
[[nodiscard]] inline policy::Targets targets(const AskConsole&) {
  return {policy::Target::server()};
}
base::Result<AskConsole> console_page_of(const Call& call);
base::Result<AskConsole> console_file_of(const Call& call);
/// 404 where there is none, and everywhere where the console is off.
ActionResult get_console(RequestContext context, Call* call, Authorized<AskConsole> request);

// token_actions.cc

/// A client that wants a token.
struct AskToken {
  auth::TokenRequest request;
};
[[nodiscard]] inline policy::Targets targets(const AskToken&) { return {policy::Target::server()}; }
base::Result<AskToken> ask_token_of(const Call& call);
ActionResult ask_token(RequestContext context, Call* call, Authorized<AskToken> request);

// catalog_actions.cc
base::Result<operation::CreateCatalog> create_catalog_of(const Call& call);
ActionResult create_catalog(RequestContext context, Call* call,
                            Authorized<operation::CreateCatalog> request);

base::Result<operation::ListCatalogs> list_catalogs_of(const Call& call);
ActionResult list_catalogs(RequestContext context, Call* call,
                           Authorized<operation::ListCatalogs> request);

// audit_actions.cc

/// The audit trail of the path's catalog.
struct ListAudit {
  audit::AuditFilter filter;
};
[[nodiscard]] inline policy::Targets targets(const ListAudit&) {
  return {policy::Target::catalog()};
}
base::Result<ListAudit> list_audit_of(const Call& call);
ActionResult list_audit(RequestContext context, Call* call, Authorized<ListAudit> request);

// namespace_actions.cc
base::Result<operation::ListNamespaces> list_namespaces_of(const Call& call);
ActionResult list_namespaces(RequestContext context, Call* call,
                             Authorized<operation::ListNamespaces> request);
base::Result<operation::CreateNamespace> create_namespace_of(const Call& call);
ActionResult create_namespace(RequestContext context, Call* call,
                              Authorized<operation::CreateNamespace> request);
ActionResult created_namespace(RequestContext context, Call* call,
                               Authorized<operation::CreateNamespace> request);
base::Result<operation::LoadNamespace> load_namespace_of(const Call& call);
ActionResult load_namespace(RequestContext context, Call* call,
                            Authorized<operation::LoadNamespace> request);
ActionResult namespace_exists(RequestContext context, Call* call,
                              Authorized<operation::LoadNamespace> request);
ActionResult list_functions(RequestContext context, Call* call,
                            Authorized<operation::LoadNamespace> request);
ActionResult load_function(RequestContext context, Call* call,
                           Authorized<operation::LoadNamespace> request);
base::Result<operation::DropNamespace> drop_namespace_of(const Call& call);
ActionResult drop_namespace(RequestContext context, Call* call,
                            Authorized<operation::DropNamespace> request);
base::Result<operation::ChangeNamespace> change_namespace_of(const Call& call);
ActionResult change_namespace(RequestContext context, Call* call,
                              Authorized<operation::ChangeNamespace> request);

// table_actions.cc
base::Result<operation::ListTables> list_tables_of(const Call& call);
ActionResult list_tables(RequestContext context, Call* call,
                         Authorized<operation::ListTables> request);
base::Result<operation::CreateTableIn> create_table_of(const Call& call);
ActionResult create_table(RequestContext context, Call* call,
                          Authorized<operation::CreateTableIn> request);
ActionResult created_table(RequestContext context, Call* call,
                           Authorized<operation::CreateTableIn> request);
base::Result<operation::CommitTable> commit_table_of(const Call& call);
ActionResult commit_table(RequestContext context, Call* call,
                          Authorized<operation::CommitTable> request);
ActionResult committed_table(RequestContext context, Call* call,
                             Authorized<operation::CommitTable> request);
base::Result<operation::CommitTransaction> commit_transaction_of(const Call& call);
ActionResult commit_transaction(RequestContext context, Call* call,
                                Authorized<operation::CommitTransaction> request);
base::Result<operation::DropTable> drop_table_of(const Call& call);
ActionResult drop_table(RequestContext context, Call* call,
                        Authorized<operation::DropTable> request);
ActionResult dropped_table(RequestContext context, Call* call,
                           Authorized<operation::DropTable> request);
base::Result<operation::RenameTable> rename_table_of(const Call& call);
ActionResult rename_table(RequestContext context, Call* call,
                          Authorized<operation::RenameTable> request);
base::Result<operation::RegisterTable> register_table_of(const Call& call);
ActionResult register_table(RequestContext context, Call* call,
                            Authorized<operation::RegisterTable> request);
ActionResult registered_table(RequestContext context, Call* call,
                              Authorized<operation::RegisterTable> request);
base::Result<operation::UnregisterTable> unregister_table_of(const Call& call);
ActionResult unregister_table(RequestContext context, Call* call,
                              Authorized<operation::UnregisterTable> request);

// load_actions.cc
base::Result<operation::LoadTable> load_table_of(const Call& call);
ActionResult load_table(RequestContext context, Call* call,
                        Authorized<operation::LoadTable> request);
base::Result<operation::LoadTable> named_table_of(const Call& call);
ActionResult table_exists(RequestContext context, Call* call,
                          Authorized<operation::LoadTable> request);
ActionResult load_credentials(RequestContext context, Call* call,
                              Authorized<operation::LoadTable> request);
base::Result<operation::ReportMetrics> report_metrics_of(const Call& call);
ActionResult report_metrics(RequestContext context, Call* call,
                            Authorized<operation::ReportMetrics> request);

// direct_actions.cc
base::Result<operation::VendDuckLake> vend_ducklake_of(const Call& call);
ActionResult vend_ducklake(RequestContext context, Call* call,
                           Authorized<operation::VendDuckLake> request);

// scan_actions.cc
base::Result<operation::PlanTableScan> plan_table_scan_of(const Call& call);
ActionResult plan_table_scan(RequestContext context, Call* call,
                             Authorized<operation::PlanTableScan> request);
base::Result<operation::NamedPlan> named_plan_of(const Call& call);
ActionResult fetch_plan(RequestContext context, Call* call,
                        Authorized<operation::NamedPlan> request);
ActionResult cancel_plan(RequestContext context, Call* call,
                         Authorized<operation::NamedPlan> request);
base::Result<operation::FetchScanTasks> fetch_scan_tasks_of(const Call& call);
ActionResult fetch_scan_tasks(RequestContext context, Call* call,
                              Authorized<operation::FetchScanTasks> request);

// sign_actions.cc
base::Result<delegation::SignForTable> sign_for_table_of(const Call& call);
ActionResult sign_for_table(RequestContext context, Call* call,
                            Authorized<delegation::SignForTable> request);
base::Result<delegation::SignByObject> sign_by_object_of(const Call& call);
ActionResult sign_by_object(RequestContext context, Call* call,
                            Authorized<delegation::SignByObject> request);

// governance_actions.cc

/// A key of the object store for a principal.
struct PutStaticKey {
  ducklake::StaticKey key;
};
struct ListStaticKeys {};
struct RemoveStaticKey {
  std::string access_key;
};
[[nodiscard]] inline policy::Targets targets(const PutStaticKey&) {
  return {policy::Target::catalog()};
}
[[nodiscard]] inline policy::Targets targets(const ListStaticKeys&) {
  return {policy::Target::catalog()};
}
[[nodiscard]] inline policy::Targets targets(const RemoveStaticKey&) {
  return {policy::Target::catalog()};
}
base::Result<PutStaticKey> put_static_key_of(const Call& call);
ActionResult put_static_key(RequestContext context, Call* call, Authorized<PutStaticKey> request);
base::Result<ListStaticKeys> list_static_keys_of(const Call& call);
ActionResult list_static_keys(RequestContext context, Call* call,
                              Authorized<ListStaticKeys> request);
base::Result<RemoveStaticKey> remove_static_key_of(const Call& call);
ActionResult remove_static_key(RequestContext context, Call* call,
                               Authorized<RemoveStaticKey> request);

// authoring_actions.cc

/// An object of governance, to be made or replaced.
struct PutGovernance {
  governance::GovernanceObject object;
};
/// The same, to be taken away.
struct RemoveGovernance {
  governance::GovernanceObject object;
};
struct ListGovernance {
  governance::Collection collection;
};
[[nodiscard]] inline policy::Targets targets(const PutGovernance&) {
  return {policy::Target::catalog()};
}
[[nodiscard]] inline policy::Targets targets(const RemoveGovernance&) {
  return {policy::Target::catalog()};
}
[[nodiscard]] inline policy::Targets targets(const ListGovernance&) {
  return {policy::Target::catalog()};
}
/// By the body.
template <governance::Collection collection>
base::Result<PutGovernance> put_governance_of(const Call& call);
template <governance::Collection collection>
base::Result<RemoveGovernance> remove_governance_of(const Call& call);
/// By the path: a tag, a policy or a role.
template <governance::Collection collection>
base::Result<RemoveGovernance> remove_named_of(const Call& call);
template <governance::Collection collection>
base::Result<ListGovernance> list_governance_of(const Call& call);
ActionResult put_governance(RequestContext context, Call* call, Authorized<PutGovernance> request);
ActionResult remove_governance(RequestContext context, Call* call,
                               Authorized<RemoveGovernance> request);
ActionResult list_governance(RequestContext context, Call* call,
                             Authorized<ListGovernance> request);
base::Result<operation::EffectivePolicies> effective_policies_of(const Call& call);
ActionResult effective_policies(RequestContext context, Call* call,
                                Authorized<operation::EffectivePolicies> request);
base::Result<operation::PreviewRows> preview_rows_of(const Call& call);
ActionResult preview_rows(RequestContext context, Call* call,
                          Authorized<operation::PreviewRows> request);

// upkeep_actions.cc
base::Result<operation::CompactTable> compact_table_of(const Call& call);
ActionResult compact_table(RequestContext context, Call* call,
                           Authorized<operation::CompactTable> request);

// view_actions.cc
base::Result<operation::ListViews> list_views_of(const Call& call);
ActionResult list_views(RequestContext context, Call* call,
                        Authorized<operation::ListViews> request);
base::Result<operation::CreateViewIn> create_view_of(const Call& call);
ActionResult create_view(RequestContext context, Call* call,
                         Authorized<operation::CreateViewIn> request);
ActionResult created_view(RequestContext context, Call* call,
                          Authorized<operation::CreateViewIn> request);
base::Result<operation::LoadView> load_view_of(const Call& call);
ActionResult load_view(RequestContext context, Call* call, Authorized<operation::LoadView> request);
ActionResult view_exists(RequestContext context, Call* call,
                         Authorized<operation::LoadView> request);
base::Result<operation::ReplaceView> replace_view_of(const Call& call);
ActionResult replace_view(RequestContext context, Call* call,
                          Authorized<operation::ReplaceView> request);
ActionResult replaced_view(RequestContext context, Call* call,
                           Authorized<operation::ReplaceView> request);
base::Result<operation::DropView> drop_view_of(const Call& call);
ActionResult drop_view(RequestContext context, Call* call, Authorized<operation::DropView> request);
base::Result<operation::RenameView> rename_view_of(const Call& call);
ActionResult rename_view(RequestContext context, Call* call,
                         Authorized<operation::RenameView> request);
base::Result<operation::RegisterViewIn> register_view_of(const Call& call);
ActionResult register_view(RequestContext context, Call* call,
                           Authorized<operation::RegisterViewIn> request);
ActionResult registered_view(RequestContext context, Call* call,
                             Authorized<operation::RegisterViewIn> request);

}  // namespace lake::http
