#pragma once

// What is on its way to one client: messages in their order, bounded, and one who
// takes them. The one who fills it and the one who empties it share an event
// loop; others post to it.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/http/byte_stream.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace tool::mcp_ingress {

/// Belongs to its event loop.
class Feed {
 public:
  static constexpr std::size_t kMostBytes = 1 << 20;  ///< Of what may be left out.

  explicit Feed(boost::asio::any_io_executor loop) : loop_(loop), changed_(loop) {}

  [[nodiscard]] const boost::asio::any_io_executor& loop() const { return loop_; }

  /// Dropped over the bound, while the client does not read.
  void push_if_room(std::string message);
  void push(std::string message);
  /// Nothing comes after what is there.
  void end();
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] std::string take();

  /// Waits until there is something, the end or the deadline.
  /// False: whoever waits was cancelled.
  [[nodiscard]] base::Task<bool> wait(base::Deadline deadline);
  /// Ends a wait that goes on.
  void wake() { changed_.cancel(); }

  /// The client is gone: what fills the feed should stop. Called once at most.
  std::function<void()> on_gone;
  void gone();

 private:
  const boost::asio::any_io_executor loop_;
  boost::asio::steady_timer changed_;
  std::deque<std::string> messages_;
  std::size_t bytes_ = 0;
  bool ended_ = false;
};

/// Sends a feed as server-sent events until it ends or the client is gone, which
/// it is told. A silent stream is kept open by comments.
[[nodiscard]] base::Task<void> send_events(std::shared_ptr<Feed> feed,
                                           base::http::ByteStream& stream,
                                           std::chrono::milliseconds keep_alive);

}  // namespace tool::mcp_ingress
