#include "lakeproxy/ducklake/registry/catalog_registry.h"

#include <utility>

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;

constexpr auto kFindById =
    "SELECT catalog_id, metadata_schema, data_prefix, account_id FROM @lakeproxy_catalog WHERE "
    "catalog_id = $1";
constexpr auto kFindBySchema =
    "SELECT catalog_id, metadata_schema, data_prefix, account_id FROM @lakeproxy_catalog WHERE "
    "metadata_schema = $1";

constexpr auto kList =
    "SELECT catalog_id, metadata_schema, data_prefix, account_id FROM @lakeproxy_catalog WHERE "
    "catalog_id > $1 ORDER BY catalog_id LIMIT $2";

model::RegisteredCatalog read_catalog(const base::pg::Rows& rows, std::size_t row = 0) {
  return {std::string(rows.text(row, 0)), std::string(rows.text(row, 1)),
          std::string(rows.text(row, 2)), rows.opt_text(row, 3)};
}

std::vector<base::pg::Param> params_of(const model::RegisteredCatalog& catalog) {
  return {param(catalog.catalog_id), param(catalog.metadata_schema), param(catalog.data_prefix)};
}

// One registration at a time: a prefix inside another one breaks no constraint.
Query lock(const std::string& home_schema) {
  return {{"SELECT pg_advisory_xact_lock(hashtextextended('lakeproxy.catalogs.' || $1::text, 0))"},
          {param(home_schema)}};
}

// What of it is taken, by the default catalog ($4 to $6) or another one.
Query find_taken(const SchemaSql& sql, const model::RegisteredCatalog& catalog,
                 const model::RegisteredCatalog& home) {
  Query query{sql("SELECT CASE WHEN catalog_id = $1 THEN 'catalog_id' WHEN metadata_schema = $2 "
                  "THEN 'metadata_schema' ELSE 'data_prefix' END FROM (SELECT catalog_id, "
                  "metadata_schema, data_prefix FROM @lakeproxy_catalog UNION ALL SELECT "
                  "$4::text, $5::text, $6::text) AS c WHERE catalog_id = $1 OR metadata_schema = "
                  "$2 OR starts_with(data_prefix, $3) OR starts_with($3, data_prefix) LIMIT 1"),
              params_of(catalog)};
  for (auto& value : params_of(home)) query.params.push_back(std::move(value));
  return query;
}

Query insert_row(const SchemaSql& sql, const model::RegisteredCatalog& catalog) {
  Query query{sql("INSERT INTO @lakeproxy_catalog (catalog_id, metadata_schema, data_prefix, "
                  "account_id) VALUES ($1, $2, $3, $4)"),
              params_of(catalog)};
  query.params.push_back(catalog.account_id);
  return query;
}

}  // namespace

base::Error no_such_catalog(std::string_view catalog_id) {
  return base::fail(ErrorKind::kNotFound, "No such catalog: " + std::string(catalog_id))
      .with_reason(kNoSuchCatalog);
}

CatalogRegistry::CatalogRegistry(base::pg::Pool& pool, LakeOptions home, std::string bucket)
    : pool_(&pool),
      home_(std::move(home)),
      bucket_(std::move(bucket)),
      sql_(home_.metadata_schema) {}

base::Task<base::Result<model::RegisteredCatalog>> CatalogRegistry::find(
    base::RequestContext context, std::string catalog_id) {
  CO_ASSIGN_OR_RETURN(auto rows,
                      co_await pool_->query(context, {sql_(kFindById), {param(catalog_id)}}));
  if (rows->empty()) co_return no_such_catalog(catalog_id);
  co_return read_catalog(*rows);
}

base::Task<base::Result<model::RegisteredCatalog>> CatalogRegistry::find_schema(
    base::RequestContext context, std::string metadata_schema) {
  CO_ASSIGN_OR_RETURN(
      auto rows, co_await pool_->query(context, {sql_(kFindBySchema), {param(metadata_schema)}}));
  if (rows->empty()) co_return no_such_catalog("with the schema " + metadata_schema);
  co_return read_catalog(*rows);
}

base::Task<base::Result<Page<model::RegisteredCatalog>>> CatalogRegistry::list(
    base::RequestContext context, PageRequest page) {
  // One more than is asked for: whether there is a next page is known by that one.
  const auto limit = static_cast<std::int64_t>(page.size) + 1;
  Query query{sql_(kList), {param(page.after), param(limit)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(query)));
  Page<model::RegisteredCatalog> listed;
  for (std::size_t row = 0; row < std::min(rows->size(), page.size); ++row) {
    listed.items.push_back(read_catalog(*rows, row));
  }
  if (rows->size() > page.size) listed.next = listed.items.back().catalog_id;
  co_return listed;
}

base::Task<base::Status> CatalogRegistry::insert(base::RequestContext context,
                                                 model::RegisteredCatalog catalog) {
  model::RegisteredCatalog home{home_.catalog, home_.metadata_schema,
                                home_.data_path.substr(bucket_.size()), std::nullopt};
  std::vector<Query> first;
  first.push_back(lock(home_.metadata_schema));
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, std::move(first)));
  // A statement of its own after the lock: it must see what the holder before us did.
  std::vector<Query> look;
  look.push_back(find_taken(sql_, catalog, home));
  CO_ASSIGN_OR_RETURN(auto taken, co_await begun.transaction->run(std::move(look)));
  if (!taken[0]->empty()) {
    std::string member(taken[0]->text(0, 0));
    co_await begun.transaction->rollback();
    co_return base::fail(ErrorKind::kAlreadyExists, member + ": taken by another catalog");
  }
  std::vector<Query> rows;
  rows.push_back(insert_row(sql_, catalog));
  CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit(std::move(rows)));
  co_return base::Status{};
}

base::Task<base::Result<void>> CatalogRegistry::add(base::RequestContext context,
                                                    model::RegisteredCatalog catalog) {
  CO_RETURN_IF_ERROR(co_await insert(context, catalog));
  // A crash here leaves a catalog whose lake is made at its first use.
  auto opened = co_await open_lake(context, *pool_, options_of(catalog));
  if (opened) co_return base::Result<void>{};
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context,
      {sql_("DELETE FROM @lakeproxy_catalog WHERE catalog_id = $1"), {param(catalog.catalog_id)}}));
  co_return std::move(opened).error();
}

LakeOptions CatalogRegistry::options_of(const model::RegisteredCatalog& catalog) const {
  LakeOptions options = home_;
  options.catalog = catalog.catalog_id;
  options.metadata_schema = catalog.metadata_schema;
  options.data_path = bucket_ + catalog.data_prefix;
  return options;
}

}  // namespace lake::ducklake
