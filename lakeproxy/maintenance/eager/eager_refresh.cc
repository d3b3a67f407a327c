#include "lakeproxy/maintenance/eager/eager_refresh.h"

namespace lake::maintenance {
namespace {

// A commit that touches more tables leaves them to their loads.
constexpr std::size_t kMostTables = 1000;
constexpr std::chrono::seconds kLoadTime{60};

base::metrics::Counter counter(base::metrics::Registry& metrics, const char* result) {
  return metrics.counter("lakeproxy_eager_loads_total",
                         "Tables prepared after a commit that was not ours.", {{"result", result}});
}

}  // namespace

EagerRefresh::EagerRefresh(CatalogOfSchema catalog_of, base::metrics::Registry& metrics)
    : catalog_of_(std::move(catalog_of)),
      prepared_(counter(metrics, "prepared")),
      failed_(counter(metrics, "failed")) {}

base::Task<base::Status> EagerRefresh::refresh(base::RequestContext context, std::string schema) {
  CO_ASSIGN_OR_RETURN(auto catalog, co_await catalog_of_(context, schema));
  auto seen = seen_.find(schema);
  if (seen == seen_.end()) {
    CO_ASSIGN_OR_RETURN(auto version, co_await catalog->reader->version(context));
    seen_.emplace(schema, version);
    co_return base::Status{};
  }
  CO_ASSIGN_OR_RETURN(auto changed, co_await catalog->reader->changed_since(context, seen->second));
  seen_[schema] = changed.version;
  if (!changed.tables || changed.tables->empty() || changed.tables->size() > kMostTables) {
    co_return base::Status{};
  }
  std::vector<model::TableId> tables;
  for (const auto& [table, at] : *changed.tables) tables.push_back(table);
  CO_ASSIGN_OR_RETURN(auto names, co_await catalog->reader->identify(context, std::move(tables)));
  for (auto& name : names) co_await load(context, catalog, std::move(name));
  co_return base::Status{};
}

base::Task<void> EagerRefresh::load(base::RequestContext context,
                                    std::shared_ptr<operation::Catalog> catalog,
                                    model::TableIdentifier table) {
  context.deadline = std::chrono::steady_clock::now() + kLoadTime;
  auto loaded = co_await catalog->loaded_tables->get(context, table);
  if (loaded) {
    prepared_.add();
    co_return;
  }
  if (loaded.error().kind() == base::ErrorKind::kNotFound) co_return;  // Dropped meanwhile.
  failed_.add();
  catalog->log->info("a table could not be prepared; its next load tries again",
                     {{"table", table.display()}, {"error", loaded.error().message()}});
}

base::Task<base::Status> EagerRefresh::catch_up(base::RequestContext context) {
  std::vector<std::string> schemas;
  for (const auto& [schema, version] : seen_) schemas.push_back(schema);
  for (auto& schema : schemas) CO_RETURN_IF_ERROR(co_await refresh(context, std::move(schema)));
  co_return base::Status{};
}

}  // namespace lake::maintenance
