#pragma once

// One thread, one event loop, no sharing: a connection lives and dies on the
// worker that accepted it, so its code needs no locks. Work that blocks (the
// embedded engine, files) goes to a BlockingPool and comes back.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "base/runtime/task.h"

namespace base {

/// A fixed set of threads, each with its own single-threaded event loop.
class Workers {
 public:
  /// Starts `count` (at least 1) threads; their loops run until join().
  explicit Workers(unsigned count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] unsigned count() const { return static_cast<unsigned>(loops_.size()); }
  /// The event loop of worker `index` < count().
  [[nodiscard]] boost::asio::io_context& loop(unsigned index) { return *loops_[index]; }
  /// Lets each loop end when it has no more work, and waits for the threads.
  void join();

 private:
  using WorkGuard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;
  std::vector<std::unique_ptr<boost::asio::io_context>> loops_;
  std::vector<WorkGuard> guards_;
  std::vector<std::thread> threads_;
};

/// Threads for calls that block. Its owner outlives every task that uses it.
class BlockingPool {
 public:
  explicit BlockingPool(unsigned threads) : pool_(threads) {}
  ~BlockingPool() { pool_.join(); }

  /// Runs `call` on a pool thread and resumes the caller on its own loop with
  /// what it returned. `call` must not throw. It cannot be cancelled.
  template <class Call>
  auto run(Call call) -> Task<decltype(call())> {
    namespace asio = boost::asio;
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_return co_await asio::co_spawn(pool_, invoke(std::move(call)), asio::use_awaitable);
  }

 private:
  template <class Call>
  static auto invoke(Call call) -> Task<decltype(call())> {
    co_return call();
  }

  boost::asio::thread_pool pool_;
};

}  // namespace base
