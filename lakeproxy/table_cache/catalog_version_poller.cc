#include "lakeproxy/table_cache/catalog_version_poller.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

namespace lake::publish {

namespace asio = boost::asio;

// The requests of one question. The timer never fires: it is cancelled when
// the answer is there.
struct CatalogVersionPoller::Round {
  explicit Round(const asio::any_io_executor& executor)
      : done(executor, asio::steady_timer::time_point::max()) {}
  asio::steady_timer done;
  base::RequestContext context;
  std::optional<base::Status> answer;
};

CatalogVersionPoller::CatalogVersionPoller(ducklake::LakeReader& reader,
                                           TableInvalidation& invalidation)
    : reader_(&reader), invalidation_(&invalidation) {}

CatalogVersionPoller::~CatalogVersionPoller() = default;

base::Task<base::Status> CatalogVersionPoller::ask(base::RequestContext context) {
  CO_ASSIGN_OR_RETURN(auto versions, co_await reader_->versions(context));
  invalidation_->note_policies(versions.policies);
  auto known = invalidation_->state().version;
  if (versions.lake == known) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto changes, co_await reader_->changed_since(context, known));
  invalidation_->advance(known, changes);
  co_return base::Status{};
}

// Asks for the round that waits, and wakes those who came meanwhile: one of
// them leads the next round.
base::Task<void> CatalogVersionPoller::lead() {
  running_ = true;
  auto round = std::exchange(next_, nullptr);
  round->answer.emplace(co_await ask(round->context));
  running_ = false;
  round->done.cancel();
  if (next_) next_->done.cancel();
}

base::Task<base::Status> CatalogVersionPoller::refresh(base::RequestContext context) {
  auto executor = co_await asio::this_coro::executor;
  if (!next_) {
    next_ = std::make_shared<Round>(executor);
    next_->context = context;
  }
  auto round = next_;
  // The question is worth asking as long as the most patient still waits.
  round->context.deadline = std::max(round->context.deadline, context.deadline);
  while (!round->answer) {
    if (!running_) {
      co_await lead();
      continue;
    }
    boost::system::error_code woken;
    co_await round->done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return *round->answer;
}

}  // namespace lake::publish
