#pragma once

// Which catalogs one server serves. Each is a lake of its own; what they share
// is the database, the bucket and this list, which stands with the default
// lake. Two catalogs never share a schema or a prefix, nor does the prefix of
// one lie within another's: prefixes are what keys are cut by.
// Source: specification, sections 1.7 and 2.1.

#include <string>

#include "lakeproxy/ducklake/lake/name_page.h"
#include "lakeproxy/ducklake/lake/open_lake.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/ducklake/registry/registered_catalog.h"

namespace lake::ducklake {

inline constexpr std::string_view kNoSuchCatalog = "no_such_catalog";
[[nodiscard]] base::Error no_such_catalog(std::string_view catalog_id);

/// One event loop's access. `pool` outlives it. Errors everywhere: kUnavailable,
/// kTimeout (PostgreSQL).
class CatalogRegistry {
 public:
  /// `home` is the default lake; `bucket` is "s3://bucket/".
  CatalogRegistry(base::pg::Pool& pool, LakeOptions home, std::string bucket);

  /// Errors: kNotFound (kNoSuchCatalog).
  [[nodiscard]] base::Task<base::Result<model::RegisteredCatalog>> find(
      base::RequestContext context, std::string catalog_id);
  /// The same by its schema.
  [[nodiscard]] base::Task<base::Result<model::RegisteredCatalog>> find_schema(
      base::RequestContext context, std::string metadata_schema);
  /// Those that are registered, by their ids in order.
  [[nodiscard]] base::Task<base::Result<Page<model::RegisteredCatalog>>> list(
      base::RequestContext context, PageRequest page);
  /// Registers the catalog and makes its lake. A schema that holds a lake with
  /// the same data path already is taken over with what is in it.
  /// Errors: kAlreadyExists  the id, the schema or the prefix is taken (names
  ///         which); those of open_lake, after which nothing is registered;
  ///         kOutcomeUnknown.
  [[nodiscard]] base::Task<base::Result<void>> add(base::RequestContext context,
                                                   model::RegisteredCatalog catalog);

  /// The lake of a registered catalog.
  [[nodiscard]] LakeOptions options_of(const model::RegisteredCatalog& catalog) const;

 private:
  base::Task<base::Status> insert(base::RequestContext context, model::RegisteredCatalog catalog);

  base::pg::Pool* pool_;
  LakeOptions home_;
  std::string bucket_;
  SchemaSql sql_;
};

}  // namespace lake::ducklake
