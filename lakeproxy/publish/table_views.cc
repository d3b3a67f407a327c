#include "lakeproxy/publish/table_views.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

namespace lake::publish {

namespace asio = boost::asio;

namespace {

// Another server may publish the same snapshots first, a few times in a row.
constexpr int kAttempts = 8;

std::string key_of(const model::TableIdentifier& identifier) {
  std::string key;
  for (const auto& level : identifier.name_space.levels) key += level + '\x1f';
  return key + '\x1f' + identifier.name;
}

}  // namespace

// A reading that several requests wait for. Requests that come while it is
// under way may join only if it began after they did, so each tick has its own.
struct TableViews::Flight {
  explicit Flight(const asio::any_io_executor& executor)
      : done(executor, asio::steady_timer::time_point::max()) {}
  asio::steady_timer done;
  ChangeTracker::Tick tick = 0;
  std::optional<base::Result<TableViewPtr>> result;
};

SharedViews::SharedViews(std::size_t tables, base::metrics::Registry& metrics)
    : cache(tables),
      hits(metrics.counter("lakeproxy_metadata_cache_hits_total",
                           "Table loads answered from the metadata cache.")),
      misses(metrics.counter("lakeproxy_metadata_cache_misses_total",
                             "Table loads that read the lake.")),
      size(metrics.gauge("lakeproxy_metadata_cache_entries", "Tables in the metadata cache.")) {}

TableViews::TableViews(ducklake::LakeReader& reader, Publisher& publisher, SharedViews& shared)
    : reader_(&reader), publisher_(&publisher), shared_(&shared), watch_(reader, shared.tracker) {}

TableViews::~TableViews() = default;

base::Task<base::Result<TableViewPtr>> TableViews::get(base::RequestContext context,
                                                       model::TableIdentifier identifier) {
  CO_RETURN_IF_ERROR(co_await watch_.refresh(context));
  std::string key = key_of(identifier);
  if (auto held = shared_->cache.get(key)) {
    const auto& [view, tick] = **held;
    if (!shared_->tracker.changed_since(view->table.table_id, tick)) {
      shared_->hits.add();
      co_return view;
    }
  }
  shared_->misses.add();
  co_return co_await join(context, std::move(key), std::move(identifier));
}

base::Task<base::Result<TableViewPtr>> TableViews::join(base::RequestContext context,
                                                        std::string key,
                                                        model::TableIdentifier identifier) {
  auto found = flights_.find(key);
  ChangeTracker::Tick now = shared_->tracker.state().tick;
  if (found != flights_.end() && found->second->tick == now) {
    auto flight = found->second;
    while (!flight->result) {
      boost::system::error_code woken;
      co_await flight->done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    co_return *flight->result;
  }
  auto flight = std::make_shared<Flight>(co_await asio::this_coro::executor);
  flight->tick = now;
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
  if (auto held = shared_->cache.get(key)) before = (*held)->view;
  for (int i = 0; i < kAttempts; ++i) {
    auto fresh = std::make_shared<SharedViews::Held>();
    fresh->tick = shared_->tracker.state().tick;
    auto view = co_await read_once(context, identifier, before);
    if (view) {
      fresh->view = *view;
      shared_->cache.put(key, std::move(fresh));
      shared_->size.set(static_cast<std::int64_t>(shared_->cache.size()));
      co_return view;
    }
    if (view.error().reason() != ducklake::kStale) {
      if (view.error().kind() == base::ErrorKind::kNotFound) shared_->cache.erase(key);
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
