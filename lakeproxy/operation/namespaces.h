#pragma once

// The namespace operations of the catalog. Errors besides those named: the
// lake's (kUnavailable, kTimeout, kOutcomeUnknown).
// Source: Iceberg REST description, "/v1/{prefix}/namespaces".

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/operation/pages.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

struct ListNamespaces {
  std::optional<model::Namespace> parent;
  Paging paging;
};
/// Errors: kNotFound  no such parent.
[[nodiscard]] base::Task<base::Result<ducklake::Page<model::Namespace>>> list_namespaces(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ListNamespaces> request);

struct CreateNamespace {
  model::Namespace name;
  std::map<std::string, std::string> properties;
};
/// Errors: kAlreadyExists; kForbidden  a reserved property.
[[nodiscard]] base::Task<base::Result<void>> create_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CreateNamespace> request);

struct LoadNamespace {
  model::Namespace name;
};
/// Errors: kNotFound.
[[nodiscard]] base::Task<base::Result<ducklake::NamespaceInfo>> load_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<LoadNamespace> request);

struct DropNamespace {
  model::Namespace name;
};
/// Errors: kNotFound; kConflict  not empty.
[[nodiscard]] base::Task<base::Result<void>> drop_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<DropNamespace> request);

struct ChangeNamespace {
  model::Namespace name;
  std::vector<std::string> removals;
  std::map<std::string, std::string> updates;
};
/// Errors: kNotFound; kForbidden  a reserved property.
[[nodiscard]] base::Task<base::Result<ducklake::PropertyChanges>> change_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ChangeNamespace> request);

}  // namespace lake::operation
