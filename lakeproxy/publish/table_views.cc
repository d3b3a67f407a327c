#include "lakeproxy/publish/table_views.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

namespace lake::publish {

namespace asio = boost::asio;

namespace {

// Commits of others overtake the publication of a busy table, many times in a row. Giving up would
// leave a client without the answer to a commit that was made; its deadline ends the tries as well.
constexpr int kAttempts = 100;
// As many entries of the metadata log as a reading gives.
constexpr std::size_t kLogRead = 101;

std::string key_of(const std::string& lake, const model::TableIdentifier& identifier) {
  std::string key = lake + '\x1f';
  for (const auto& level : identifier.name_space.levels) key += level + '\x1f';
  return key + '\x1f' + identifier.name;
}

// What several requests wait for. The timer never fires: it is cancelled when
// the result is there.
template <class T>
struct Awaited {
  explicit Awaited(const asio::any_io_executor& executor)
      : done(executor, asio::steady_timer::time_point::max()) {}
  asio::steady_timer done;
  std::optional<T> result;
};

template <class T>
base::Task<T> wait_for(std::shared_ptr<Awaited<T>> awaited) {
  while (!awaited->result) {
    boost::system::error_code woken;
    co_await awaited->done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return *awaited->result;
}

}  // namespace

// A reading. Requests that come while it is under way may join only if it began
// after they did, so each tick has its own.
struct TableViews::Flight : Awaited<base::Result<TableViewPtr>> {
  using Awaited::Awaited;
  ChangeTracker::Tick tick = 0;
  model::LakeVersion version;
};

struct TableViews::Settling : Awaited<base::Status> {
  using Awaited::Awaited;
};

ViewCache::ViewCache(std::size_t tables, base::metrics::Registry& metrics)
    : views(tables),
      hits(metrics.counter("lakeproxy_metadata_cache_hits_total",
                           "Table loads answered from the metadata cache.")),
      misses(metrics.counter("lakeproxy_metadata_cache_misses_total",
                             "Table loads that read the lake.")),
      size(metrics.gauge("lakeproxy_metadata_cache_entries", "Tables in the metadata cache.")) {}

SharedViews::SharedViews(ViewCache& cache) : cache(&cache), key(std::to_string(++cache.lakes)) {}

TableViews::TableViews(ducklake::LakeReader& reader, Publisher& publisher, SharedViews& shared)
    : reader_(&reader), publisher_(&publisher), shared_(&shared), watch_(reader, shared.tracker) {}

TableViews::~TableViews() = default;

base::Task<base::Result<TableViewPtr>> TableViews::get(base::RequestContext context,
                                                       model::TableIdentifier identifier) {
  CO_RETURN_IF_ERROR(co_await watch_.refresh(context));
  std::string key = key_of(shared_->key, identifier);
  if (auto found = shared_->cache->views.get(key)) {
    SharedViews::HeldPtr held = *found;
    const model::LakeTable& table = held->view->table;
    if (!shared_->tracker.changed_since(table.table_id, table.version, held->tick)) {
      auto settled = co_await settle(context, identifier, held);
      if (settled) {
        shared_->cache->hits.add();
        co_return held->view;
      }
      if (settled.error().reason() != ducklake::kStale) co_return std::move(settled).error();
    }
  }
  shared_->cache->misses.add();
  co_return co_await join(context, std::move(key), std::move(identifier));
}

base::Task<base::Result<TableViewPtr>> TableViews::remembered(base::RequestContext context,
                                                              model::TableIdentifier identifier) {
  auto found = shared_->cache->views.get(key_of(shared_->key, identifier));
  if (!found) co_return TableViewPtr();
  SharedViews::HeldPtr held = *found;
  auto settled = co_await settle(context, identifier, held);
  if (settled) co_return held->view;
  if (settled.error().reason() == ducklake::kStale) co_return TableViewPtr();
  co_return std::move(settled).error();
}

base::Task<base::Result<SharedViews::HeldPtr>> TableViews::publish_appended(
    base::RequestContext context, model::TableIdentifier identifier, TableViewPtr before,
    ducklake::ChangedTable changed) {
  auto fresh = std::make_shared<SharedViews::Held>();
  fresh->tick = shared_->tracker.state().tick;
  model::LakeTable& table = changed.appended->table;
  // What the view before has put is in the log by now.
  if (before->metadata_sequence > table.metadata_sequence) {
    table.metadata_sequence = before->metadata_sequence;
    table.metadata.metadata_log.push_back(
        {before->metadata.last_updated_ms, before->metadata_location});
    auto& log = table.metadata.metadata_log;
    if (log.size() > kLogRead) log.erase(log.begin());
  }
  CO_ASSIGN_OR_RETURN(auto publication,
                      co_await publisher_->publish_known(
                          context, std::move(table), std::move(changed.appended->changes), before));
  fresh->view = std::move(publication.view);
  fresh->trail = std::move(publication.trail);
  shared_->tracker.note_commit({changed.head.snapshot, changed.head.revision}, changed.version,
                               fresh->view->table.table_id);
  keep(key_of(shared_->key, identifier), fresh);
  co_return SharedViews::HeldPtr(fresh);
}

base::Task<base::Status> TableViews::settle(base::RequestContext context,
                                            model::TableIdentifier identifier,
                                            SharedViews::HeldPtr held) {
  const Trail* trail = held->trail.get();
  if (trail == nullptr || trail->done) co_return base::Status{};
  if (auto found = settling_.find(trail); found != settling_.end()) {
    co_return co_await wait_for<base::Status>(found->second);
  }
  auto settling = std::make_shared<Settling>(co_await asio::this_coro::executor);
  settling_[trail] = settling;
  settling->result.emplace(co_await publisher_->finish(context, {held->view, held->trail}));
  settling_.erase(trail);
  settling->done.cancel();
  const base::Status& result = *settling->result;
  if (!result && result.error().reason() == ducklake::kStale) {
    std::string key = key_of(shared_->key, identifier);
    auto now = shared_->cache->views.get(key);
    if (now && *now == held) shared_->cache->views.erase(key);
  }
  co_return result;
}

// A slower worker must not put an older view in the place of a newer one.
void TableViews::keep(const std::string& key, SharedViews::HeldPtr fresh) {
  if (auto found = shared_->cache->views.get(key)) {
    const model::LakeTable& held = (*found)->view->table;
    const model::LakeTable& table = fresh->view->table;
    if (held.table_id == table.table_id && held.version.snapshot > table.version.snapshot &&
        (*found)->tick >= fresh->tick) {
      return;
    }
  }
  shared_->cache->views.put(key, std::move(fresh));
  shared_->cache->size.set(static_cast<std::int64_t>(shared_->cache->views.size()));
}

base::Task<base::Result<TableViewPtr>> TableViews::join(base::RequestContext context,
                                                        std::string key,
                                                        model::TableIdentifier identifier) {
  auto found = flights_.find(key);
  ChangeTracker::State now = shared_->tracker.state();
  if (found != flights_.end() && found->second->tick == now.tick &&
      found->second->version == now.version) {
    co_return co_await wait_for<base::Result<TableViewPtr>>(found->second);
  }
  auto flight = std::make_shared<Flight>(co_await asio::this_coro::executor);
  flight->tick = now.tick;
  flight->version = now.version;
  flights_[key] = flight;
  flight->result.emplace(co_await read(context, key, std::move(identifier)));
  if (auto mine = flights_.find(key); mine != flights_.end() && mine->second == flight) {
    flights_.erase(mine);
  }
  flight->done.cancel();
  co_return *flight->result;
}

base::Task<base::Result<TableViewPtr>> TableViews::read(base::RequestContext context,
                                                        std::string key,
                                                        model::TableIdentifier identifier) {
  TableViewPtr before;
  if (auto held = shared_->cache->views.get(key)) before = (*held)->view;
  for (int i = 0; i < kAttempts; ++i) {
    auto fresh = std::make_shared<SharedViews::Held>();
    fresh->tick = shared_->tracker.state().tick;
    auto view = co_await read_once(context, identifier, before);
    if (view) {
      fresh->view = *view;
      keep(key, std::move(fresh));
      co_return view;
    }
    if (view.error().reason() != ducklake::kStale) {
      if (view.error().kind() == base::ErrorKind::kNotFound) shared_->cache->views.erase(key);
      co_return view;
    }
  }
  co_return base::fail(base::ErrorKind::kUnavailable,
                       "Other servers keep changing the table; try again.");
}

base::Task<base::Result<TableViewPtr>> TableViews::read_once(base::RequestContext context,
                                                             model::TableIdentifier identifier,
                                                             TableViewPtr before) {
  CO_ASSIGN_OR_RETURN(auto id, co_await reader_->find_table(context, identifier));
  if (before && before->table.table_id != id) before = nullptr;
  std::shared_ptr<const model::LakeTable> known;
  if (before) known = std::shared_ptr<const model::LakeTable>(before, &before->table);
  CO_ASSIGN_OR_RETURN(auto table, co_await reader_->load_table(context, id, known));
  co_return co_await publisher_->publish(context, std::move(table), before);
}

}  // namespace lake::publish
