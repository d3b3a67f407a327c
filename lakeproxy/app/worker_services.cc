#include "lakeproxy/app/worker_services.h"

#include "lakeproxy/measure/measured_pool.h"

namespace lake::app {

base::Result<std::unique_ptr<WorkerServices>> WorkerServices::create(
    Shared& shared, boost::asio::any_io_executor loop) {
  ASSIGN_OR_RETURN(auto store, objects::ObjectStore::create(store_options(*shared.settings),
                                                            *shared.clock, *shared.random));
  return std::unique_ptr<WorkerServices>(
      new WorkerServices(shared, std::move(loop), std::move(store)));
}

WorkerServices::WorkerServices(Shared& shared, boost::asio::any_io_executor loop,
                               std::unique_ptr<objects::ObjectStore> store)
    : pool_(measure::measured(base::pg::Pool::create(pool_options(*shared.settings)), meter_)),
      store_(std::move(store)),
      removals_(*store_),
      background_(std::move(loop)),
      exporter_(*shared.engine, *shared.blocking, *store_),
      manifests_(*store_, *shared.manifests),
      registry_(*pool_, lake_options(*shared.settings), bucket_location(*shared.settings)),
      tools_{&shared,    pool_.get(), store_.get(), &removals_,
             &exporter_, &manifests_, &background_, &meter_},
      attached_(shared.settings->catalog.max_active) {
  store_->measure_with(meter_);
  routes_.home = CatalogServices::create(
      tools_, shared.catalogs->get(lake_options(*shared.settings), std::nullopt));
  routes_.attach = [this](base::RequestContext context, std::string id) {
    return attach(context, std::move(id));
  };
  routes_.registry = &registry_;
  routes_.metrics = shared.metrics;
  routes_.ready = [this](base::RequestContext context) { return ready(context); };
  routes_.opened = [&shared] { return shared.opened.load(std::memory_order_acquire); };
}

base::Task<base::Result<std::shared_ptr<operation::Catalog>>> WorkerServices::attach(
    base::RequestContext context, std::string id) {
  if (auto held = attached_.get(id)) co_return *held;
  CO_ASSIGN_OR_RETURN(auto registered, co_await registry_.find(context, id));
  auto shared =
      tools_.shared->catalogs->get(registry_.options_of(registered), registered.account_id);
  // Its lake may be of an older release of ours, or not there after a crash.
  if (!shared->opened.load(std::memory_order_acquire)) {
    CO_RETURN_IF_ERROR(co_await ducklake::open_lake(context, *pool_, shared->lake));
    shared->opened.store(true, std::memory_order_release);
  }
  auto catalog = CatalogServices::create(tools_, std::move(shared));
  attached_.put(id, catalog);
  co_return catalog;
}

base::Task<base::Result<std::shared_ptr<operation::Catalog>>> WorkerServices::catalog_of_schema(
    base::RequestContext context, std::string schema) {
  if (schema == routes_.home->lake.metadata_schema) co_return routes_.home;
  CO_ASSIGN_OR_RETURN(auto registered, co_await registry_.find_schema(context, std::move(schema)));
  co_return co_await attach(context, registered.catalog_id);
}

base::Task<base::Status> WorkerServices::ready(base::RequestContext context) {
  context.deadline =
      std::min(context.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(5));
  CO_RETURN_IF_ERROR(co_await pool_->query(context, {{"SELECT 1"}, {}}));
  CO_RETURN_IF_ERROR(co_await store_->ready(context));
  if (!routes_.opened()) {
    co_return base::fail(base::ErrorKind::kUnavailable, "The lake is not open yet.");
  }
  co_return base::Status{};
}

base::Task<void> WorkerServices::finish() {
  removals_.hurry();
  co_await background_.wait();
  pool_->close();
}

}  // namespace lake::app
