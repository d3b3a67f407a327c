#include "base/runtime/fair_places.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace base {
namespace {

namespace asio = boost::asio;

// One who waits. Its timer belongs to its own loop; the rest is guarded by the
// state's mutex.
struct Waiter {
  Waiter(const asio::any_io_executor& loop, std::string waiting_key, Deadline deadline)
      : timer(loop, deadline), key(std::move(waiting_key)) {}
  asio::steady_timer timer;
  const std::string key;
  bool granted = false;
};

}  // namespace

struct FairPlaces::State {
  std::mutex mutex;
  // All guarded by mutex.
  std::size_t free;
  const std::size_t most_of_key;
  std::unordered_map<std::string, std::size_t> held;
  std::list<std::shared_ptr<Waiter>> waiting;  // In the order of their coming.

  explicit State(std::size_t places)
      : free(places), most_of_key(std::max<std::size_t>(1, places / 2)) {}

  [[nodiscard]] std::size_t held_by(const std::string& key) const {
    auto found = held.find(key);
    return found == held.end() ? 0 : found->second;
  }
  void take(const std::string& key) {
    --free;
    ++held[key];
  }
  void give_back(const std::string& key) {
    ++free;
    auto found = held.find(key);
    if (--found->second == 0) held.erase(found);
  }
  // Gives free places to those who hold least, the first of equals first.
  void grant() {
    while (free > 0) {
      auto next = std::ranges::min_element(
          waiting, {}, [this](const auto& waiter) { return held_by(waiter->key); });
      if (next == waiting.end() || held_by((*next)->key) >= most_of_key) return;
      auto waiter = std::move(*next);
      waiting.erase(next);
      take(waiter->key);
      waiter->granted = true;
      asio::post(waiter->timer.get_executor(), [waiter] { waiter->timer.cancel(); });
    }
  }
};

FairPlaces::FairPlaces(std::size_t places) : state_(std::make_shared<State>(places)) {}

FairPlaces::Held::~Held() {
  if (!state_) return;
  std::lock_guard lock(state_->mutex);
  state_->give_back(key_);
  state_->grant();
}

Task<Result<FairPlaces::Held>> FairPlaces::enter(std::string key, Deadline deadline) {
  auto state = state_;
  auto waiter = std::make_shared<Waiter>(co_await asio::this_coro::executor, key, deadline);
  {
    std::lock_guard lock(state->mutex);
    state->waiting.push_back(waiter);
    state->grant();
    if (waiter->granted) co_return Held(state, std::move(key));
  }
  // Also when the wait is left by an exception, as a cancellation may be. Who was given a
  // place by then gives it back.
  struct Leaving {
    State& state;
    const std::shared_ptr<Waiter>& waiter;
    bool took_place = false;
    ~Leaving() {
      std::lock_guard lock(state.mutex);
      state.waiting.remove(waiter);
      if (!waiter->granted || took_place) return;
      state.give_back(waiter->key);
      state.grant();
    }
  } leaving{*state, waiter};
  // A cancellation that came before the wait began does not wake it.
  auto cancellation = co_await asio::this_coro::cancellation_state;
  if (cancellation.cancelled() != asio::cancellation_type::none) {
    co_return fail(ErrorKind::kCancelled, "the wait was cancelled");
  }
  auto [woken] = co_await waiter->timer.async_wait(asio::as_tuple(asio::use_awaitable));
  std::lock_guard lock(state->mutex);
  if (waiter->granted) {
    leaving.took_place = true;
    co_return Held(state, std::move(key));
  }
  if (woken) co_return fail(ErrorKind::kCancelled, "the wait was cancelled");
  co_return fail(ErrorKind::kTimeout, "no place became free in time");
}

}  // namespace base
