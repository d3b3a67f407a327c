#include "lakeproxy/maintenance/eager/eager_listener.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace lake::maintenance {
namespace {

namespace asio = boost::asio;

constexpr const char* kChannel = "lakeproxy_commits";
// A connection that a firewall forgot looks quiet: a question now and then tells.
constexpr std::chrono::seconds kQuietTime{30};
constexpr std::chrono::seconds kAnswerTime{30};
// A commit that touches more tables leaves them to their loads.
constexpr std::size_t kMostTables = 1000;
constexpr std::chrono::seconds kLoadTime{60};

base::metrics::Counter counter(base::metrics::Registry& metrics, const char* result) {
  return metrics.counter("lakeproxy_eager_loads_total",
                         "Tables prepared after a commit that was not ours.", {{"result", result}});
}

base::RequestContext within(std::chrono::steady_clock::duration time) {
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + time;
  return context;
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
    if (catalog->masked_tables != nullptr) {
      co_await catalog->masked_tables->refresh(context, std::move(*loaded));
    }
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

EagerListener::EagerListener(EagerOptions options, EagerRefresh& refresh, base::log::Logger log,
                             base::metrics::Registry& metrics)
    : options_(std::move(options)),
      refresh_(refresh),
      log_(std::move(log)),
      is_listener_(metrics.gauge("lakeproxy_eager_listener",
                                 "1 while this process prepares tables after commits.")) {}

void EagerListener::stop() {
  stopping_ = true;
  if (listener_) listener_->close();
  if (pause_) pause_->cancel();
}

base::Task<void> EagerListener::pause() {
  if (stopping_) co_return;
  pause_ = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor);
  pause_->expires_after(options_.retry);
  boost::system::error_code woken;
  co_await pause_->async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

base::Task<void> EagerListener::run() {
  while (!stopping_) {
    auto ended = co_await listen();
    is_listener_.set(0);
    listener_.reset();
    if (stopping_) co_return;
    if (!ended) {
      log_.warning(
          "the listener for commits lost its connection; tables are prepared by their "
          "loads until it is back",
          {{"error", ended.error().message()}, {"detail", ended.error().detail()}});
    }
    co_await pause();
  }
}

// One connection's life. Listening begins before the state is read, so nothing
// falls between the two.
base::Task<base::Status> EagerListener::listen() {
  CO_ASSIGN_OR_RETURN(listener_, co_await base::pg::Listener::open(within(kAnswerTime),
                                                                   options_.postgres, kChannel));
  for (;;) {
    CO_ASSIGN_OR_RETURN(bool elected,
                        co_await listener_->try_lock(within(kAnswerTime),
                                                     "lakeproxy.listener." + options_.home_schema));
    if (elected) break;
    co_await pause();
    if (stopping_) co_return base::Status{};
  }
  is_listener_.set(1);
  log_.info("this process prepares tables after commits");
  CO_RETURN_IF_ERROR(co_await refresh_.refresh(within(kAnswerTime), options_.home_schema));
  CO_RETURN_IF_ERROR(co_await refresh_.catch_up(within(kAnswerTime)));
  while (!stopping_) CO_RETURN_IF_ERROR(co_await hear());
  co_return base::Status{};
}

base::Task<base::Status> EagerListener::hear() {
  CO_ASSIGN_OR_RETURN(auto schemas, co_await listener_->next(within(kQuietTime)));
  if (schemas.empty()) co_return co_await listener_->ping(within(kAnswerTime));
  for (auto& schema : schemas) {
    auto refreshed = co_await refresh_.refresh(within(kAnswerTime), schema);
    // A schema that is no catalog of ours any more, or PostgreSQL away: the
    // connection itself tells the second.
    if (!refreshed) {
      log_.info("tables could not be prepared",
                {{"schema", schema}, {"error", refreshed.error().message()}});
    }
  }
  co_return base::Status{};
}

}  // namespace lake::maintenance
