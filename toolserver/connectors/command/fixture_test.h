#pragma once

// Runs a task to its end on an event loop of its own, from a test.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "base/runtime/task.h"

namespace tool::command::testing {

template <class T>
T run(base::Task<T> task) {
  boost::asio::io_context loop(1);
  auto future = boost::asio::co_spawn(loop, std::move(task), boost::asio::use_future);
  loop.run();
  return future.get();
}

}  // namespace tool::command::testing
