#pragma once

// Part of gather.h: the tasks that were begun and whose results were not handed
// on yet. They are a run of consecutive tasks, so a ring holds their results.

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/runtime/task.h"

namespace base::detail {

/// The T of a function that gives a Task<Result<T>> for an index.
template <class Begin>
using GivenBy = std::invoke_result_t<Begin&, std::size_t>::value_type::value_type;

/// Of one event loop; must outlive its tasks.
template <class T>
class GatherWindow {
 public:
  GatherWindow(boost::asio::any_io_executor executor, std::size_t size)
      : executor_(std::move(executor)),
        ended_(executor_, 1),
        slots_(std::max(size, std::size_t{1})) {}
  GatherWindow(const GatherWindow&) = delete;
  GatherWindow& operator=(const GatherWindow&) = delete;

  [[nodiscard]] std::size_t begun() const { return begun_; }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  [[nodiscard]] bool is_empty() const { return begun_ == taken_; }
  /// There is room, and no task failed.
  [[nodiscard]] bool may_begin() const { return !failed_ && begun_ - taken_ < slots_.size(); }

  void begin(Task<Result<T>> task) {
    auto& slot = slots_[begun_++ % slots_.size()];
    boost::asio::co_spawn(executor_, std::move(task),
                          [this, &slot](std::exception_ptr error, Result<T> result) {
                            if (error) std::terminate();
                            failed_ = failed_ || !result;
                            slot.emplace(std::move(result));
                            // Refused where the word of another end waits to be
                            // heard, which wakes next() as well.
                            ended_.try_send(boost::system::error_code{});
                          });
  }

  /// What the earliest of them gave. Not when is_empty().
  Task<Result<T>> next() {
    auto& slot = slots_[taken_ % slots_.size()];
    while (!slot) co_await ended_.async_receive(boost::asio::use_awaitable);
    taken_ += 1;
    Result<T> result = std::move(*slot);
    slot.reset();
    co_return result;
  }

 private:
  boost::asio::any_io_executor executor_;
  boost::asio::experimental::channel<void(boost::system::error_code)> ended_;
  std::vector<std::optional<Result<T>>> slots_;
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;
  bool failed_ = false;
};

}  // namespace base::detail
