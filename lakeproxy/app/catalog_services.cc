#include "lakeproxy/app/catalog_services.h"

namespace lake::app {

std::shared_ptr<SharedCatalog> SharedCatalogs::get(const ducklake::LakeOptions& lake,
                                                   const std::optional<std::string>& account) {
  std::lock_guard lock(mutex_);
  std::erase_if(held_, [](const auto& item) { return item.second.expired(); });
  std::weak_ptr<SharedCatalog>& held = held_[lake.catalog];
  if (auto there = held.lock()) return there;
  auto made = std::make_shared<SharedCatalog>(*cache_, lake, account);
  held = made;
  return made;
}

std::shared_ptr<operation::Catalog> CatalogServices::create(const LoopTools& tools,
                                                            std::shared_ptr<SharedCatalog> shared) {
  auto services = std::make_shared<CatalogServices>(tools, std::move(shared));
  std::shared_ptr<operation::Catalog> catalog(services, &services->catalog_);
  catalog->background.bind(*tools.background, catalog);
  return catalog;
}

CatalogServices::CatalogServices(const LoopTools& tools, std::shared_ptr<SharedCatalog> shared)
    : shared_(std::move(shared)),
      reader_(*tools.pool, shared_->lake),
      writer_(*tools.pool, shared_->lake, *tools.shared->clock, *tools.shared->random,
              {tools.shared->steps, tools.meter}),
      view_store_(*tools.pool, shared_->lake, {tools.shared->steps, tools.meter}),
      receipts_(*tools.pool, shared_->lake.metadata_schema),
      upkeep_(*tools.pool, shared_->lake),
      table_upkeep_(*tools.pool, shared_->lake),
      publisher_({.reader = &reader_,
                  .writer = &writer_,
                  .records = tools.records,
                  .exporter = tools.exporter,
                  .counter = tools.exporter,
                  .manifests = tools.manifests,
                  .nan_counting = tools.shared->nan_counting,
                  .steps = tools.shared->steps},
                 client_config(*tools.shared->settings)),
      views_(reader_, publisher_, shared_->views) {
  catalog_.reader = &reader_;
  catalog_.writer = &writer_;
  catalog_.view_store = &view_store_;
  catalog_.receipts = &receipts_;
  catalog_.upkeep = &upkeep_;
  catalog_.table_upkeep = &table_upkeep_;
  catalog_.views = &views_;
  catalog_.manifests = tools.manifests;
  catalog_.exporter = tools.exporter;
  catalog_.store = tools.store;
  catalog_.removals = tools.removals;
  catalog_.meter = tools.meter;
  catalog_.commit_metrics = tools.shared->commits;
  catalog_.reported_metrics = tools.shared->reports;
  catalog_.steps = tools.shared->steps;
  catalog_.compaction_steps = tools.shared->compaction_steps;
  catalog_.compactor = tools.shared->compactor;
  catalog_.compaction_metrics = tools.shared->compactions;
  catalog_.file_grace = tools.shared->settings->upkeep.file_grace;
  catalog_.clock = tools.shared->clock;
  catalog_.random = tools.shared->random;
  catalog_.log.emplace(*tools.shared->log);
  catalog_.lake = shared_->lake;
  catalog_.client_config = client_config(*tools.shared->settings);
  catalog_.client_credentials = client_credentials(*tools.shared->settings);
  catalog_.file_prefixes = file_prefixes(*tools.shared->settings);
  catalog_.public_url = tools.shared->settings->server.public_url;
  catalog_.default_format_version = shared_->lake.default_format_version;
  catalog_.account_id = shared_->account_id;
}

}  // namespace lake::app
