#include "base/runtime/workers.h"

#include <boost/asio/executor_work_guard.hpp>

namespace base {

Workers::Workers(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    loops_.push_back(std::make_unique<boost::asio::io_context>(1));
    guards_.push_back(boost::asio::make_work_guard(*loops_.back()));
  }
  for (auto& loop : loops_) {
    threads_.emplace_back([raw = loop.get()] { raw->run(); });
  }
}

Workers::~Workers() { join(); }

void Workers::join() {
  for (auto& guard : guards_) guard.reset();
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace base
