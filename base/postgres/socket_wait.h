#pragma once

// libpq owns its socket and never waits on it; the event loop waits and never
// reads. Both would like to close the number. So the loop gets a duplicate of
// its own, and neither can touch a number that the other has given back.

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/postgres/outcome.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base::pg {

enum class Interest { kRead, kWrite, kReadOrWrite };

class SocketWait {
 public:
  explicit SocketWait(const boost::asio::any_io_executor& executor)
      : descriptor_(executor), timer_(executor) {}

  /// Watches `socket` from now on instead of any other. False when the
  /// process has no file descriptor left.
  [[nodiscard]] bool watch(int socket);
  /// Waits until the socket is ready: Loss::kNone. Loss::kBroken after
  /// cancel(). One wait at a time.
  [[nodiscard]] Task<Loss> wait(Interest interest, Deadline deadline);
  /// Ends a wait.
  void cancel();

  [[nodiscard]] boost::asio::any_io_executor executor() { return timer_.get_executor(); }

 private:
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;
};

}  // namespace base::pg
