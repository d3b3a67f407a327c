#pragma once

// Catalogs beside the default one.
// Source: specification, sections 2.1 and 4 (POST /v1/catalogs).

#include "lakeproxy/ducklake/registry/catalog_registry.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/operation/namespaces.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

struct CreateCatalog {
  model::RegisteredCatalog catalog;
};
[[nodiscard]] inline policy::Targets targets(const CreateCatalog&) {
  return {policy::Target::server()};
}
/// Errors: those of CatalogRegistry::add.
[[nodiscard]] base::Task<base::Result<void>> create_catalog(
    base::RequestContext context, ducklake::CatalogRegistry* registry,
    policy::Authorized<CreateCatalog> request);

/// Beyond the specification: nobody can look after what they cannot see.
struct ListCatalogs {
  Paging paging;
};
[[nodiscard]] inline policy::Targets targets(const ListCatalogs&) {
  return {policy::Target::server()};
}
/// Those beside the default one. Errors: those of CatalogRegistry::list.
[[nodiscard]] base::Task<base::Result<ducklake::Page<model::RegisteredCatalog>>> list_catalogs(
    base::RequestContext context, ducklake::CatalogRegistry* registry,
    policy::Authorized<ListCatalogs> request);

}  // namespace lake::operation
