#include "lakeproxy/app/catalog_services.h"

#include "lakeproxy/operation/effective_policies.h"
#include "lakeproxy/operation/see_table.h"

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

namespace {

base::Task<base::Result<policy::ReadPlan>> find_read_plan(base::RequestContext context,
                                                          governance::Resolver* resolver,
                                                          std::int64_t version,
                                                          auth::Principal principal,
                                                          publish::LoadedTablePtr loaded) {
  const policy::PolicyVersion policies(version);
  if (version == operation::kNoPolicies) co_return policy::ReadPlan::raw(policies);
  auto held = resolver->held(principal, loaded->table.table_id, loaded->table.namespace_id,
                             loaded->etag, policies);
  if (held) co_return std::move(*held);
  auto state = operation::governed_state(*loaded, loaded->metadata.current_schema());
  state.key = loaded->etag;
  co_return co_await resolver->plan(context, std::move(principal), std::move(state), policies);
}

constexpr std::chrono::seconds kTimeForEvents{30};

// What fails is there for the next version of the lake, and for whoever reads the trail.
base::Task<void> move_events(operation::Catalog* catalog) {
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + kTimeForEvents;
  base::Status moved = co_await catalog->unhurried->governance->audit_events(context);
  if (!moved) {
    catalog->log->warning("renames and drops wait for the audit trail",
                          {{"catalog", catalog->lake.catalog},
                           {"error", moved.error().message()},
                           {"detail", moved.error().detail()}});
  }
}

base::pg::Pool& pool_for(const LoopTools& tools, Pace pace) {
  return pace == Pace::kRequests ? *tools.pool : *tools.background_pool;
}

}  // namespace

std::shared_ptr<operation::Catalog> CatalogServices::create(const LoopTools& tools,
                                                            std::shared_ptr<SharedCatalog> shared) {
  auto make = [&](Pace pace) {
    auto services = std::make_shared<CatalogServices>(tools, shared, pace);
    std::shared_ptr<operation::Catalog> catalog(services, &services->catalog_);
    catalog->background.bind(*tools.background, catalog);
    return catalog;
  };
  auto catalog = make(Pace::kRequests);
  catalog->unhurried = make(Pace::kUnhurried);
  return catalog;
}

void CatalogServices::move_events_behind() {
  const bool is_of_requests = catalog_.unhurried != nullptr;
  if (!is_of_requests || loaded_tables_.policy_version() == operation::kNoPolicies) return;
  const model::LakeVersion version = shared_->tables.invalidation.state().version;
  if (events_asked_at_ == version) return;
  events_asked_at_ = version;
  catalog_.background.spawn(&move_events);
}

publish::PublisherTools CatalogServices::publisher_tools(const LoopTools& tools, Pace pace) {
  return {
      .reader = &reader_,
      .writer = &writer_,
      .records = tools.records,
      .exporter = pace == Pace::kRequests ? &tools.exporters->load : &tools.exporters->background,
      .counter = &tools.exporters->count,
      .manifests = tools.manifests,
      .nan_counting = tools.shared->nan_counting,
      .steps = tools.shared->steps,
      .copies = tools.copies};
}

CatalogServices::CatalogServices(const LoopTools& tools, std::shared_ptr<SharedCatalog> shared,
                                 Pace pace)
    : shared_(std::move(shared)),
      reader_(pool_for(tools, pace), shared_->lake),
      writer_(pool_for(tools, pace), shared_->lake, *tools.shared->clock, *tools.shared->random,
              {tools.shared->steps, tools.meter}),
      view_store_(pool_for(tools, pace), shared_->lake, {tools.shared->steps, tools.meter}),
      idempotency_records_(pool_for(tools, pace), shared_->lake.metadata_schema),
      upkeep_(pool_for(tools, pace), shared_->lake),
      table_upkeep_(pool_for(tools, pace), shared_->lake),
      publisher_(publisher_tools(tools, pace), base::log::Logger(*tools.shared->log)),
      loaded_tables_(reader_, publisher_, shared_->tables),
      masked_tables_({.pool = &pool_for(tools, pace),
                      .manifests = tools.manifests,
                      .maker = tools.masks,
                      .cache = tools.shared->masked_tables},
                     shared_->lake.metadata_schema, masked_retention(*tools.shared->settings)),
      audit_log_(pool_for(tools, pace), shared_->lake.metadata_schema),
      audit_(std::make_shared<audit::AuditTrail>(
          pool_for(tools, pace), *tools.background, *tools.shared->clock,
          base::log::Logger(*tools.shared->log),
          audit::AuditOptions{.metadata_schema = shared_->lake.metadata_schema,
                              .retention = tools.shared->settings->audit.retention},
          shared_->audit)),
      governance_(pool_for(tools, pace), shared_->lake.metadata_schema,
                  *tools.shared->policy_trials, *tools.shared->clock),
      resolver_(pool_for(tools, pace), shared_->lake.metadata_schema,
                tools.shared->settings->masking.actors_in_files
                    ? governance::ActorMasks::kInFiles
                    : governance::ActorMasks::kAsForAll) {
  std::erase_if(*tools.trails, [](const auto& trail) { return trail.expired(); });
  tools.trails->push_back(audit_);
  catalog_.audit = audit_.get();
  catalog_.audit_log = &audit_log_;
  catalog_.governance = &governance_;
  catalog_.resolver = &resolver_;
  catalog_.read_plan = [this](base::RequestContext context, auth::Principal principal,
                              publish::LoadedTablePtr loaded) {
    move_events_behind();
    return find_read_plan(context, &resolver_, loaded_tables_.policy_version(),
                          std::move(principal), std::move(loaded));
  };
  catalog_.governance_fails_closed = tools.shared->settings->masking.fail_closed;
  catalog_.reader = &reader_;
  catalog_.writer = &writer_;
  catalog_.view_store = &view_store_;
  catalog_.idempotency_records = &idempotency_records_;
  catalog_.upkeep = &upkeep_;
  catalog_.table_upkeep = &table_upkeep_;
  catalog_.loaded_tables = &loaded_tables_;
  catalog_.masked_tables = &masked_tables_;
  catalog_.manifests = tools.manifests;
  catalog_.exporter = &tools.exporters->commit;
  catalog_.store = tools.store;
  catalog_.removals = tools.removals;
  catalog_.meter = tools.meter;
  catalog_.scan_plans = tools.shared->scan_plans;
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
  catalog_.delegation = tools.delegation;
  catalog_.client_config =
      std::make_shared<publish::ClientConfig>(client_config(*tools.shared->settings));
  catalog_.client_credentials = client_credentials(*tools.shared->settings);
  catalog_.file_prefixes = file_prefixes(*tools.shared->settings);
  catalog_.public_url = tools.shared->settings->server.public_url;
  catalog_.default_format_version = shared_->lake.default_format_version;
  catalog_.account_id = shared_->account_id;
}

}  // namespace lake::app
