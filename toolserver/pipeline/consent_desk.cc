#include "toolserver/pipeline/consent_desk.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

namespace tool::pipeline {

namespace asio = boost::asio;

// The timer never ends by itself: it is what a decision wakes. It belongs to the
// loop of who asks, and the rest to the desk's mutex.
struct ConsentDesk::Waiting {
  Waiting(const asio::any_io_executor& loop, ConsentQuestion asked)
      : question(std::move(asked)), wake(loop, asio::steady_timer::time_point::max()) {}
  const ConsentQuestion question;
  asio::steady_timer wake;
  std::optional<ConsentAnswer> answer;
};

namespace {

// Leaves the desk however the wait ends.
template <class Leave>
class AtEnd {
 public:
  explicit AtEnd(Leave leave) : leave_(std::move(leave)) {}
  ~AtEnd() { leave_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  Leave leave_;
};

}  // namespace

Outcome<std::uint64_t> ConsentDesk::put(std::shared_ptr<Waiting> waiting) {
  std::lock_guard held(mutex_);
  auto of_principal = std::ranges::count_if(open_, [&](const auto& one) {
    return one.second->question.principal == waiting->question.principal;
  });
  if (open_.size() >= kMost || std::cmp_greater_equal(of_principal, kOfPrincipal)) {
    return refuse(Code::kBusy, "too many questions wait for a person");
  }
  open_.emplace(++last_, std::move(waiting));
  return last_;
}

base::Task<Outcome<ConsentAnswer>> ConsentDesk::ask(base::RequestContext,
                                                    ConsentQuestion question) {
  auto waiting = std::make_shared<Waiting>(co_await asio::this_coro::executor, std::move(question));
  CO_ASSIGN_OR_RETURN(std::uint64_t id, put(waiting));
  AtEnd leave([this, id] {
    std::lock_guard held(mutex_);
    open_.erase(id);
  });
  co_await waiting->wake.async_wait(asio::as_tuple(asio::use_awaitable));
  std::lock_guard held(mutex_);
  open_.erase(id);
  if (!waiting->answer) co_return refuse(Code::kCancelled, "the question is not waited for");
  co_return *waiting->answer;
}

std::vector<ConsentDesk::Open> ConsentDesk::open() const {
  std::vector<Open> out;
  std::lock_guard held(mutex_);
  for (const auto& [id, waiting] : open_) {
    if (!waiting->answer) out.push_back({id, waiting->question});
  }
  return out;
}

bool ConsentDesk::decide(std::uint64_t id, ConsentAnswer answer) {
  std::shared_ptr<Waiting> waiting;
  {
    std::lock_guard held(mutex_);
    auto found = open_.find(id);
    if (found == open_.end() || found->second->answer) return false;
    waiting = found->second;
    waiting->answer = std::move(answer);
  }
  // Whoever asked waits already: it has put the question on the desk in the same turn
  // of its loop.
  asio::post(waiting->wake.get_executor(), [waiting] { waiting->wake.cancel(); });
  return true;
}

}  // namespace tool::pipeline
