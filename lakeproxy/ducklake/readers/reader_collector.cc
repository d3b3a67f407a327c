#include "lakeproxy/ducklake/readers/reader_collector.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace lake::ducklake {

namespace asio = boost::asio;

ReaderCollector::ReaderCollector(ReaderLogins& logins, CollectorOptions options,
                                 base::log::Logger log)
    : logins_(logins), options_(std::move(options)), log_(std::move(log)) {}

void ReaderCollector::stop() {
  stopping_ = true;
  if (pause_) pause_->cancel();
}

base::Task<void> ReaderCollector::pause() {
  if (stopping_) co_return;
  pause_ = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor);
  pause_->expires_after(options_.every);
  boost::system::error_code woken;
  co_await pause_->async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

// Unknown counts as yes: it is found out when a login is made.
base::Task<bool> ReaderCollector::can_make() {
  auto can = co_await logins_.can_make(base::RequestContext{});
  if (!can || *can) co_return true;
  log_.warning(
      "nobody can read the lake with DuckDB itself: this server's role cannot make logins; "
      "ALTER ROLE ... CREATEROLE",
      {{"setting", "LAKEPROXY_PG_USER"}});
  co_return false;
}

base::Task<void> ReaderCollector::collect() {
  auto left_over = co_await logins_.collect(base::RequestContext{}, options_.schema);
  if (!left_over) {
    if (stopping_) co_return;
    log_.warning("expired logins of readers are not collected",
                 {{"error", left_over.error().message()}, {"detail", left_over.error().detail()}});
  } else if (*left_over > 0) {
    log_.warning("expired logins of readers cannot be dropped; PostgreSQL's log says why",
                 {{"logins", *left_over}});
  }
}

base::Task<void> ReaderCollector::run() {
  while (!stopping_ && !options_.opened()) co_await pause();
  if (stopping_ || !co_await can_make()) co_return;
  while (!stopping_) {
    co_await collect();
    co_await pause();
  }
}

}  // namespace lake::ducklake
