#pragma once

// Prepares the tables that a commit to a lake has changed, so that the next
// load finds them ready. Nothing depends on it: a load does the same work when
// it comes first.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/metrics/registry.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::maintenance {

/// The catalog whose lake stands in a PostgreSQL schema.
using CatalogOfSchema = std::function<base::Task<base::Result<std::shared_ptr<operation::Catalog>>>(
    base::RequestContext, std::string)>;

/// One event loop's.
class EagerRefresh {
 public:
  EagerRefresh(CatalogOfSchema catalog_of, base::metrics::Registry& metrics);

  /// Loads what changed in the lake since the last call; the first call only
  /// takes note of the lake's state. A table that cannot be shown is left to its
  /// next load, which says why.
  /// Errors: those of CatalogOfSchema and LakeReader.
  [[nodiscard]] base::Task<base::Status> refresh(base::RequestContext context, std::string schema);
  /// refresh() of every lake that was refreshed before. Errors: the first one's.
  [[nodiscard]] base::Task<base::Status> catch_up(base::RequestContext context);

 private:
  base::Task<void> load(base::RequestContext context, std::shared_ptr<operation::Catalog> catalog,
                        model::TableIdentifier table);

  CatalogOfSchema catalog_of_;
  base::metrics::Counter prepared_;
  base::metrics::Counter failed_;
  std::map<std::string, model::LakeVersion> seen_;  ///< By schema.
};

}  // namespace lake::maintenance
