#include "lakeproxy/app/worker_services.h"

#include "lakeproxy/app/gateway_server.h"
#include "lakeproxy/maintenance/removal/prefix_owner.h"
#include "lakeproxy/measure/measured_pool.h"

namespace lake::app {

base::Result<std::unique_ptr<WorkerServices>> WorkerServices::create(
    Shared& shared, boost::asio::any_io_executor loop) {
  ASSIGN_OR_RETURN(auto store, storage::ObjectStore::create(store_options(*shared.settings),
                                                            *shared.clock, *shared.random));
  delegation::DelegationOptions keys = delegation_options(*shared.settings);
  if (!keys.sts) {
    ASSIGN_OR_RETURN(keys.mint, gateway_minting(*shared.settings, *shared.random, *shared.clock));
  }
  ASSIGN_OR_RETURN(auto delegation, delegation::AccessDelegation::create(
                                        std::move(keys), *shared.issued_keys, *shared.clock));
  ASSIGN_OR_RETURN(auto signer, signer_options(*shared.settings));
  std::unique_ptr<WorkerServices> made(
      new WorkerServices(shared, loop, std::move(store), std::move(delegation), std::move(signer)));
  RETURN_IF_ERROR(made->set_up_authentication(shared.authority, std::move(loop), *shared.clock));
  return made;
}

namespace {

// One series for the pools of all workers.
base::pg::PoolOptions counted(base::pg::PoolOptions options, Shared& shared) {
  auto gauge = [&](const char* state) {
    return shared.metrics->gauge("lakeproxy_postgres_connections",
                                 "Connections of the database pools.", {{"state", state}});
  };
  options.use_changed = [in_use = gauge("in_use"), idle = gauge("idle")](base::pg::PoolUse before,
                                                                         base::pg::PoolUse now) {
    in_use.add(static_cast<std::int64_t>(now.in_use) - static_cast<std::int64_t>(before.in_use));
    idle.add(static_cast<std::int64_t>(now.idle) - static_cast<std::int64_t>(before.idle));
  };
  return options;
}

}  // namespace

WorkerServices::WorkerServices(Shared& shared, boost::asio::any_io_executor loop,
                               std::unique_ptr<storage::ObjectStore> store,
                               std::unique_ptr<delegation::AccessDelegation> delegation,
                               delegation::SignerOptions signer)
    : pool_(measure::measured(
          base::pg::Pool::create(counted(pool_options(*shared.settings), shared)), meter_)),
      background_pool_(
          base::pg::Pool::create(counted(background_pool_options(*shared.settings), shared))),
      store_(std::move(store)),
      delegation_(std::move(delegation)),
      removals_(*store_),
      background_(std::move(loop)),
      records_(*pool_, *shared.records),
      exporters_{{*shared.engine, shared.engine_pools->load, *store_},
                 {*shared.engine, shared.engine_pools->commit, *store_},
                 {*shared.engine, shared.engine_pools->background, *store_},
                 {*shared.engine, shared.engine_pools->count, *store_},
                 {*shared.engine, shared.engine_pools->copy, *store_},
                 {*shared.engine, shared.engine_pools->mask, *store_}},
      copies_(exporters_.copy, *background_pool_, background_, *shared.copies,
              base::log::Logger(*shared.log)),
      masks_(exporters_.mask, *background_pool_, background_, *shared.masks,
             static_cast<std::int64_t>(shared.settings->masking.part_bytes),
             base::log::Logger(*shared.log)),
      manifests_(*store_, *shared.manifests),
      registry_(*pool_, lake_options(*shared.settings), bucket_location(*shared.settings)),
      signer_(std::move(signer), *shared.clock, *shared.random, *shared.strictness),
      reader_logins_(*pool_, *shared.random, reader_options(*shared.settings)),
      direct_(direct_reading(*shared.settings)),
      tools_{&shared,           pool_.get(), background_pool_.get(),
             store_.get(),      &removals_,  &records_,
             &exporters_,       &manifests_, &background_,
             &meter_,           &copies_,    &masks_,
             delegation_.get(), &trails_},
      attached_({.values = shared.settings->catalog.max_active}) {
  store_->measure_with(meter_);
  routes_.home = CatalogServices::create(
      tools_, shared.catalogs->get(lake_options(*shared.settings), std::nullopt));
  routes_.attached = [this](const std::string& id) { return attached_.get(id).value_or(nullptr); };
  routes_.find_registered = [this](base::RequestContext context, std::string id) {
    return registry_.find(context, std::move(id));
  };
  routes_.attach = [this](base::RequestContext context, model::RegisteredCatalog registered) {
    return attach(context, std::move(registered));
  };
  delegation_->use_static_keys(*pool_);
  routes_.registry = &registry_;
  routes_.signer = &signer_;
  if (shared.settings->readers.row_security == settings::RowSecurity::kOn) {
    direct_.logins = &reader_logins_;
  }
  routes_.direct = &direct_;
  if (shared.settings->server.console == settings::Console::kOn) routes_.console = &console_;
  routes_.metrics = shared.metrics;
  routes_.ready = [this](base::RequestContext context) { return ready(context); };
  routes_.requests = shared.requests;
  routes_.opened = [&shared] { return shared.opened.load(std::memory_order_acquire); };
}

base::Status WorkerServices::set_up_authentication(Authority* authority,
                                                   boost::asio::any_io_executor loop,
                                                   const base::Clock& clock) {
  routes_.authenticate = auth::everybody;
  if (authority == nullptr) return {};
  std::unique_ptr<auth::ProviderTokens> provider;
  if (authority->provider()) {
    ASSIGN_OR_RETURN(provider,
                     auth::ProviderTokens::create(std::move(loop), *authority->provider(), clock));
  }
  authenticator_.emplace(authority->tokens(), std::move(provider), clock);
  routes_.authenticate = [this](base::RequestContext context, const base::http::Headers* headers) {
    return authenticator_->authenticate(context, headers);
  };
  routes_.verify_token = [this](base::RequestContext context, std::string token) {
    return authenticator_->verify_text(context, std::move(token));
  };
  routes_.tokens = authority->grants();
  routes_.guesses = authority->guesses();
  return {};
}

base::Task<base::Result<std::shared_ptr<operation::Catalog>>> WorkerServices::attach(
    base::RequestContext context, model::RegisteredCatalog registered) {
  const std::string id = registered.catalog_id;
  if (auto held = attached_.get(id)) co_return *held;
  auto shared =
      tools_.shared->catalogs->get(registry_.options_of(registered), registered.account_id);
  // Its lake may be of an older release of ours, or not there after a crash.
  const bool opens = !shared->opened.load(std::memory_order_acquire);
  if (opens) {
    CO_RETURN_IF_ERROR(co_await ducklake::open_lake(context, *pool_, shared->lake));
    shared->opened.store(true, std::memory_order_release);
  }
  auto catalog = CatalogServices::create(tools_, std::move(shared));
  attached_.put(id, catalog);
  if (opens) co_await claim(context, catalog);
  co_return catalog;
}

// Whether objects may be removed is found out again whenever some are to be.
base::Task<void> WorkerServices::claim(base::RequestContext context,
                                       std::shared_ptr<operation::Catalog> catalog) {
  context.deadline =
      std::min(context.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(5));
  auto owned = co_await operation::check_owner(
      context, {catalog->upkeep, catalog->store, catalog->lake.data_path});
  if (owned) co_return;
  catalog->log->warning("no files of this catalog are removed until its owner is known",
                        {{"catalog", catalog->lake.catalog},
                         {"error", owned.error().message()},
                         {"detail", owned.error().detail()}});
}

base::Task<void> WorkerServices::claim_home() {
  co_await claim(base::RequestContext{}, routes_.home);
}

base::Task<base::Result<std::shared_ptr<operation::Catalog>>> WorkerServices::catalog_of_schema(
    base::RequestContext context, std::string schema) {
  if (schema == routes_.home->lake.metadata_schema) co_return routes_.home;
  CO_ASSIGN_OR_RETURN(auto registered, co_await registry_.find_schema(context, std::move(schema)));
  co_return co_await attach(context, std::move(registered));
}

base::Task<base::Result<std::shared_ptr<operation::Catalog>>> WorkerServices::unhurried_of_schema(
    base::RequestContext context, std::string schema) {
  CO_ASSIGN_OR_RETURN(auto catalog, co_await catalog_of_schema(context, std::move(schema)));
  co_return catalog->unhurried;
}

base::Task<base::Status> check_takes_writes(base::RequestContext context, base::pg::Pool* pool) {
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool->query(
                                     context, {{"SELECT NOT pg_is_in_recovery() AND "
                                                "current_setting('transaction_read_only') = 'off'"},
                                               {}}));
  if (rows->boolean(0, 0)) co_return base::Status{};
  co_return base::fail(base::ErrorKind::kUnavailable, "The database takes no writes.");
}

base::Task<base::Status> WorkerServices::ready(base::RequestContext context) {
  context.deadline =
      std::min(context.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(5));
  CO_RETURN_IF_ERROR(co_await check_takes_writes(context, pool_.get()));
  CO_RETURN_IF_ERROR(co_await store_->ready(context));
  if (!routes_.opened()) {
    co_return base::fail(base::ErrorKind::kUnavailable, "The lake is not open yet.");
  }
  co_return base::Status{};
}

base::Task<void> WorkerServices::finish() {
  for (const auto& trail : trails_) {
    if (auto held = trail.lock()) held->hurry();
  }
  removals_.hurry();
  records_.hurry();
  copies_.stop();
  masks_.stop();
  co_await background_.wait();
  if (authenticator_) co_await authenticator_->finish();
  pool_->close();
  background_pool_->close();
}

}  // namespace lake::app
