#pragma once

// Catalogs beside the default one.
// Source: specification, sections 2.1 and 4 (POST /v1/catalogs).

#include "lakeproxy/ducklake/lake/catalog_registry.h"
#include "lakeproxy/govern/authorized.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

struct CreateCatalog {
  model::RegisteredCatalog catalog;
};
/// Errors: those of CatalogRegistry::add.
[[nodiscard]] base::Task<base::Result<void>> create_catalog(
    base::RequestContext context, ducklake::CatalogRegistry* registry,
    govern::Authorized<CreateCatalog> request);

}  // namespace lake::operation
