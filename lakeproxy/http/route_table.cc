#include "lakeproxy/http/route_table.h"

#include <optional>
#include <utility>

#include "base/core/text.h"
#include "lakeproxy/http/actions.h"

namespace lake::http {
namespace {

using base::http::Method;
using governance::Collection;
using policy::Permission;

constexpr std::string_view kNamespaces = "/v1/{prefix}/namespaces";
constexpr std::string_view kNamespace = "/v1/{prefix}/namespaces/{namespace}";
constexpr std::string_view kProperties = "/v1/{prefix}/namespaces/{namespace}/properties";
constexpr std::string_view kTables = "/v1/{prefix}/namespaces/{namespace}/tables";
constexpr std::string_view kTable = "/v1/{prefix}/namespaces/{namespace}/tables/{table}";
constexpr std::string_view kReports = "/v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics";
constexpr std::string_view kRegister = "/v1/{prefix}/namespaces/{namespace}/register";
constexpr std::string_view kUnregister =
    "/v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister";
constexpr std::string_view kCredentials =
    "/v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials";
constexpr std::string_view kSign = "/v1/{prefix}/namespaces/{namespace}/tables/{table}/sign";
constexpr std::string_view kSignObject = "/v1/{prefix}/aws/s3/sign";
constexpr std::string_view kCompact =
    "/v1/{prefix}/admin/namespaces/{namespace}/tables/{table}/compact";
constexpr std::string_view kStaticKeys = "/v1/{prefix}/governance/static-s3-keys";
constexpr std::string_view kStaticKey = "/v1/{prefix}/governance/static-s3-keys/{key}";
constexpr std::string_view kTags = "/v1/{prefix}/governance/tags";
constexpr std::string_view kTag = "/v1/{prefix}/governance/tags/{tag-namespace}/{tag-name}";
constexpr std::string_view kObjectTags = "/v1/{prefix}/governance/object-tags";
constexpr std::string_view kMasks = "/v1/{prefix}/governance/masking-policies";
constexpr std::string_view kMask = "/v1/{prefix}/governance/masking-policies/{policy}";
constexpr std::string_view kFilters = "/v1/{prefix}/governance/row-access-policies";
constexpr std::string_view kFilter = "/v1/{prefix}/governance/row-access-policies/{policy}";
constexpr std::string_view kAttachments = "/v1/{prefix}/governance/policy-attachments";
constexpr std::string_view kRoles = "/v1/{prefix}/governance/roles";
constexpr std::string_view kRole = "/v1/{prefix}/governance/roles/{role}";
constexpr std::string_view kRoleGrants = "/v1/{prefix}/governance/role-grants";
constexpr std::string_view kObjectGrants = "/v1/{prefix}/governance/object-grants";
constexpr std::string_view kEffective = "/v1/{prefix}/governance/effective-policies";
constexpr std::string_view kPreview = "/v1/{prefix}/governance/preview";
constexpr std::string_view kAudit = "/v1/{prefix}/governance/audit";
constexpr std::string_view kPlans = "/v1/{prefix}/namespaces/{namespace}/tables/{table}/plan";
constexpr std::string_view kPlan =
    "/v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}";
constexpr std::string_view kTasks = "/v1/{prefix}/namespaces/{namespace}/tables/{table}/tasks";
constexpr std::string_view kFunctions = "/v1/{prefix}/namespaces/{namespace}/functions";
constexpr std::string_view kFunction = "/v1/{prefix}/namespaces/{namespace}/functions/{function}";
constexpr std::string_view kDirect = "/v1/{prefix}/namespaces/{namespace}/ducklake-credentials";
constexpr std::string_view kTransaction = "/v1/{prefix}/transactions/commit";
constexpr std::string_view kRename = "/v1/{prefix}/tables/rename";
constexpr std::string_view kViews = "/v1/{prefix}/namespaces/{namespace}/views";
constexpr std::string_view kView = "/v1/{prefix}/namespaces/{namespace}/views/{view}";
constexpr std::string_view kRegisterView = "/v1/{prefix}/namespaces/{namespace}/register-view";
constexpr std::string_view kRenameView = "/v1/{prefix}/views/rename";

// clang-format off
constexpr Route kRoutes[] = {
    {Method::kGet,    "/healthz",      "health",        Permission::kPublic, Effect::kRead,
     BodyForm::none(), answers<ask_server_of, get_health>()},
    {Method::kGet,    "/readyz",       "ready",         Permission::kPublic, Effect::kRead,
     BodyForm::none(), answers<ask_server_of, get_ready>()},
    {Method::kGet,    "/metrics",      "metrics",       Permission::kPublic, Effect::kRead,
     BodyForm::none(), answers<ask_server_of, get_metrics>()},
    {Method::kGet,    "/openapi.json", "openapi",       Permission::kPublic, Effect::kRead,
     BodyForm::none(), answers<ask_server_of, get_openapi>()},
    {Method::kGet,    "/ui",           "getConsole",    Permission::kPublic, Effect::kRead,
     BodyForm::none(), answers<console_page_of, get_console>()},
    {Method::kHead,   "/ui",           "consoleExists", Permission::kPublic, Effect::kRead,
     BodyForm::none(), answers<console_page_of, get_console>()},
    {Method::kGet,    "/ui/{file}",    "getConsoleFile", Permission::kPublic, Effect::kRead,
     BodyForm::none(), answers<console_file_of, get_console>()},
    {Method::kHead,   "/ui/{file}",    "consoleFileExists", Permission::kPublic, Effect::kRead,
     BodyForm::none(), answers<console_file_of, get_console>()},
    {Method::kGet,    "/v1/config",    "getConfig",     Permission::kGreeting, Effect::kRead,
     BodyForm::none(), answers<ask_server_of, get_config>()},
    {Method::kPost,   "/v1/oauth/tokens", "getToken",   Permission::kPublic, Effect::kGrant,
     BodyForm::form(), answers<ask_token_of, ask_token>()},
    {Method::kPost,   "/v1/catalogs",  "createCatalog", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<create_catalog_of, create_catalog>()},
    {Method::kGet,    "/v1/catalogs",  "listCatalogs",  Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_catalogs_of, list_catalogs>()},
    {Method::kGet,    kNamespaces,     "listNamespaces",   Permission::kListNamespaces,   Effect::kRead,
     BodyForm::none(), answers<list_namespaces_of, list_namespaces>()},
    {Method::kPost,   kNamespaces,     "createNamespace",  Permission::kManageNamespaces, Effect::kChange,
     BodyForm::json(), changes<create_namespace_of, create_namespace, created_namespace>()},
    {Method::kGet,    kNamespace,      "loadNamespaceMetadata", Permission::kReadNamespace, Effect::kRead,
     BodyForm::none(), answers<load_namespace_of, load_namespace>()},
    {Method::kHead,   kNamespace,      "namespaceExists",  Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<load_namespace_of, namespace_exists>()},
    {Method::kDelete, kNamespace,      "dropNamespace",    Permission::kManageNamespaces, Effect::kChange,
     BodyForm::none(), changes<drop_namespace_of, drop_namespace, nothing<drop_namespace_of>>()},
    {Method::kPost,   kProperties,     "updateProperties", Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::json(), changes<change_namespace_of, change_namespace, nothing<change_namespace_of>>()},
    {Method::kGet,    kTables,         "listTables",       Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<list_tables_of, list_tables>()},
    {Method::kPost,   kTables,         "createTable",      Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::large_json(), changes<create_table_of, create_table, created_table>()},
    {Method::kGet,    kTable,          "loadTable",        Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<load_table_of, load_table>()},
    {Method::kHead,   kTable,          "tableExists",      Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<named_table_of, table_exists>()},
    {Method::kPost,   kTable,          "updateTable",      Permission::kWriteNamespace,   Effect::kCommit,
     BodyForm::large_json(), changes<commit_table_of, commit_table, committed_table>()},
    {Method::kDelete, kTable,          "dropTable",        Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::none(), changes<drop_table_of, drop_table, dropped_table>()},
    {Method::kGet,    kCredentials,    "loadCredentials",  Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<named_table_of, load_credentials>()},
    // The second is that of clients that name no table: the object's is judged once it is found.
    {Method::kPost,   kSign,           "signRequest",      Permission::kReadNamespace,    Effect::kRead,
     BodyForm::large_json(), answers<sign_for_table_of, sign_for_table>()},
    {Method::kPost,   kSignObject,     "signS3Request",    Permission::kListNamespaces,   Effect::kRead,
     BodyForm::large_json(), answers<sign_by_object_of, sign_by_object>()},
    {Method::kPost,   kReports,        "reportMetrics",    Permission::kReadNamespace,    Effect::kRead,
     BodyForm::large_json(), answers<report_metrics_of, report_metrics>()},
    {Method::kPost,   kPlans,          "planTableScan",    Permission::kReadNamespace,    Effect::kRead,
     BodyForm::json(), answers<plan_table_scan_of, plan_table_scan>()},
    {Method::kGet,    kPlan,           "fetchPlanningResult", Permission::kReadNamespace, Effect::kRead,
     BodyForm::none(), answers<named_plan_of, fetch_plan>()},
    {Method::kDelete, kPlan,           "cancelPlanning",   Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<named_plan_of, cancel_plan>()},
    {Method::kPost,   kTasks,          "fetchScanTasks",   Permission::kReadNamespace,    Effect::kRead,
     BodyForm::json(), answers<fetch_scan_tasks_of, fetch_scan_tasks>()},
    {Method::kGet,    kFunctions,      "listFunctions",    Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<load_namespace_of, list_functions>()},
    {Method::kGet,    kFunction,       "loadFunction",     Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<load_namespace_of, load_function>()},
    {Method::kGet,    kDirect,         "ducklakeCredentials", Permission::kReadNamespace, Effect::kRead,
     BodyForm::none(), answers<vend_ducklake_of, vend_ducklake>()},
    {Method::kPost,   kTransaction,    "commitTransaction", Permission::kWriteNamespace,  Effect::kCommit,
     BodyForm::large_json(), changes<commit_transaction_of, commit_transaction, nothing<commit_transaction_of>>()},
    {Method::kPost,   kRegister,       "registerTable",    Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::json(), changes<register_table_of, register_table, registered_table>()},
    {Method::kPost,   kUnregister,     "unregisterTable",  Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::none(), changes<unregister_table_of, unregister_table, nothing<unregister_table_of>>()},
    {Method::kPost,   kCompact,        "compactTable",     Permission::kManageCatalogs,   Effect::kChange,
     BodyForm::none(), changes<compact_table_of, compact_table, nothing<compact_table_of>>()},
    {Method::kPost,   kStaticKeys,     "putStaticKey",     Permission::kManageCatalogs,   Effect::kChange,
     BodyForm::json(), answers<put_static_key_of, put_static_key>()},
    {Method::kGet,    kStaticKeys,     "listStaticKeys",   Permission::kManageCatalogs,   Effect::kRead,
     BodyForm::none(), answers<list_static_keys_of, list_static_keys>()},
    {Method::kDelete, kStaticKey,      "removeStaticKey",  Permission::kManageCatalogs,   Effect::kChange,
     BodyForm::none(), answers<remove_static_key_of, remove_static_key>()},
    {Method::kPost,   kTags,           "putTag", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<put_governance_of<Collection::kTags>, put_governance>()},
    {Method::kGet,    kTags,           "listTags", Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_governance_of<Collection::kTags>, list_governance>()},
    {Method::kDelete, kTag,            "removeTag", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::none(), answers<remove_named_of<Collection::kTags>, remove_governance>()},
    {Method::kPost,   kObjectTags,     "putObjectTag", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<put_governance_of<Collection::kObjectTags>, put_governance>()},
    {Method::kGet,    kObjectTags,     "listObjectTags", Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_governance_of<Collection::kObjectTags>, list_governance>()},
    {Method::kDelete, kObjectTags,     "removeObjectTag", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<remove_governance_of<Collection::kObjectTags>, remove_governance>()},
    {Method::kPost,   kMasks,          "putMaskingPolicy", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<put_governance_of<Collection::kMaskingPolicies>, put_governance>()},
    {Method::kGet,    kMasks,          "listMaskingPolicies", Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_governance_of<Collection::kMaskingPolicies>, list_governance>()},
    {Method::kDelete, kMask,           "removeMaskingPolicy", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::none(), answers<remove_named_of<Collection::kMaskingPolicies>, remove_governance>()},
    {Method::kPost,   kFilters,        "putRowAccessPolicy", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<put_governance_of<Collection::kRowAccessPolicies>, put_governance>()},
    {Method::kGet,    kFilters,        "listRowAccessPolicies", Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_governance_of<Collection::kRowAccessPolicies>, list_governance>()},
    {Method::kDelete, kFilter,         "removeRowAccessPolicy", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::none(), answers<remove_named_of<Collection::kRowAccessPolicies>, remove_governance>()},
    {Method::kPost,   kAttachments,    "putPolicyAttachment", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<put_governance_of<Collection::kPolicyAttachments>, put_governance>()},
    {Method::kGet,    kAttachments,    "listPolicyAttachments", Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_governance_of<Collection::kPolicyAttachments>, list_governance>()},
    {Method::kDelete, kAttachments,    "removePolicyAttachment", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<remove_governance_of<Collection::kPolicyAttachments>, remove_governance>()},
    {Method::kPost,   kRoles,          "putRole", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<put_governance_of<Collection::kRoles>, put_governance>()},
    {Method::kGet,    kRoles,          "listRoles", Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_governance_of<Collection::kRoles>, list_governance>()},
    {Method::kDelete, kRole,           "removeRole", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::none(), answers<remove_named_of<Collection::kRoles>, remove_governance>()},
    {Method::kPost,   kRoleGrants,     "putRoleGrant", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<put_governance_of<Collection::kRoleGrants>, put_governance>()},
    {Method::kGet,    kRoleGrants,     "listRoleGrants", Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_governance_of<Collection::kRoleGrants>, list_governance>()},
    {Method::kDelete, kRoleGrants,     "removeRoleGrant", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<remove_governance_of<Collection::kRoleGrants>, remove_governance>()},
    {Method::kPost,   kObjectGrants,   "putObjectGrant", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<put_governance_of<Collection::kObjectGrants>, put_governance>()},
    {Method::kGet,    kObjectGrants,   "listObjectGrants", Permission::kManageCatalogs, Effect::kRead,
     BodyForm::none(), answers<list_governance_of<Collection::kObjectGrants>, list_governance>()},
    {Method::kDelete, kObjectGrants,   "removeObjectGrant", Permission::kManageCatalogs, Effect::kChange,
     BodyForm::json(), answers<remove_governance_of<Collection::kObjectGrants>, remove_governance>()},
    {Method::kGet,    kEffective,      "effectivePolicies", Permission::kManageCatalogs,  Effect::kRead,
     BodyForm::none(), answers<effective_policies_of, effective_policies>()},
    {Method::kGet,    kPreview,        "previewRows",      Permission::kReadOnBehalf,     Effect::kRead,
     BodyForm::none(), answers<preview_rows_of, preview_rows>()},
    {Method::kGet,    kAudit,          "listAuditRecords", Permission::kManageCatalogs,   Effect::kRead,
     BodyForm::none(), answers<list_audit_of, list_audit>()},
    {Method::kPost,   kRename,         "renameTable",      Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::json(), changes<rename_table_of, rename_table, nothing<rename_table_of>>()},
    {Method::kGet,    kViews,          "listViews",        Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<list_views_of, list_views>()},
    {Method::kPost,   kViews,          "createView",       Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::large_json(), changes<create_view_of, create_view, created_view>()},
    {Method::kGet,    kView,           "loadView",         Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<load_view_of, load_view>()},
    {Method::kHead,   kView,           "viewExists",       Permission::kReadNamespace,    Effect::kRead,
     BodyForm::none(), answers<load_view_of, view_exists>()},
    {Method::kPost,   kView,           "replaceView",      Permission::kWriteNamespace,   Effect::kCommit,
     BodyForm::large_json(), changes<replace_view_of, replace_view, replaced_view>()},
    {Method::kDelete, kView,           "dropView",         Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::none(), changes<drop_view_of, drop_view, nothing<drop_view_of>>()},
    {Method::kPost,   kRegisterView,   "registerView",     Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::json(), changes<register_view_of, register_view, registered_view>()},
    {Method::kPost,   kRenameView,     "renameView",       Permission::kWriteNamespace,   Effect::kChange,
     BodyForm::json(), changes<rename_view_of, rename_view, nothing<rename_view_of>>()},
};
// clang-format on

// Takes the next part off a path that starts with '/'.
std::string_view take_part(std::string_view& path) {
  path.remove_prefix(1);
  std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(part.size());
  return part;
}

bool is_parameter(std::string_view part) { return part.starts_with('{'); }

// A request is compared with many routes, so nothing is decoded or allocated here.
bool has_form(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && !path.empty() && path.front() == '/') {
    std::string_view wanted = take_part(pattern);
    std::string_view given = take_part(path);
    if (is_parameter(wanted) ? given.empty() : wanted != given) return false;
  }
  return pattern.empty() && path.empty();
}

// Of a path that has the pattern's form. Nothing: a part is wrongly encoded.
std::optional<PathParameters> parameters_of(std::string_view pattern, std::string_view path) {
  PathParameters parameters;
  while (!pattern.empty()) {
    std::string_view wanted = take_part(pattern);
    std::string_view given = take_part(path);
    if (!is_parameter(wanted)) continue;
    auto value = base::percent_decode(given);
    if (!value) return std::nullopt;
    parameters[std::string(wanted.substr(1, wanted.size() - 2))] = std::move(*value);
  }
  return parameters;
}

std::string methods_of(std::string_view path) {
  std::string methods;
  for (const Route& route : kRoutes) {
    if (!has_form(route.path, path) || !parameters_of(route.path, path)) continue;
    if (!methods.empty()) methods += ", ";
    methods += to_string(route.method);
  }
  return methods;
}

}  // namespace

std::span<const Route> route_table() { return kRoutes; }

std::vector<std::string> announced_endpoints() {
  std::vector<std::string> endpoints;
  for (const Route& route : kRoutes) {
    // What operators and DuckDB call is not part of Iceberg's API, and its clients look for that
    // alone.
    if (!route.path.starts_with("/v1/{prefix}/")) continue;
    if (route.path.starts_with("/v1/{prefix}/admin/")) continue;
    if (route.path.starts_with("/v1/{prefix}/governance/")) continue;
    if (route.path == kDirect) continue;
    if (route.path == kSignObject) continue;  // Was never part of it; its clients know it.
    endpoints.push_back(std::string(to_string(route.method)) + " " + std::string(route.path));
  }
  return endpoints;
}

Match match(Method method, std::string_view path) {
  for (const Route& route : kRoutes) {
    if (route.method != method || !has_form(route.path, path)) continue;
    if (auto found = parameters_of(route.path, path)) return {&route, std::move(*found), ""};
  }
  return {nullptr, {}, methods_of(path)};
}

}  // namespace lake::http
