#pragma once

// One way to a foreign MCP server: a program of ours, or an HTTP endpoint. It
// carries messages and knows none of their meaning but this: an answer belongs
// to a request, and what the server asks of us is refused. Everything that
// comes in is bounded: in size, in number, in time.
// Sources: Model Context Protocol, "Transports", of both eras.

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp/revision.h"
#include "toolserver/mcp_bridge/param_headers.h"
#include "toolserver/model/fault.h"

namespace tool::bridge {

/// What a server answered: a result, or an error of its own.
using Reply = std::expected<base::json::Object, mcp::RpcError>;

/// Called on the link's event loop; must not close the link from within.
struct LinkEvents {
  /// The result for what a server asks of its client while a request of ours
  /// waits, or nothing to refuse it. Bridges leave it empty: they refuse all.
  std::function<std::optional<base::json::Object>(const mcp::Request&)> asked = {};
  std::function<void(const mcp::Notification&)> notified;
  /// At most once: the link is of no more use. Never a text of the server's.
  std::function<void(std::string reason)> closed;
};

/// Bounds of what comes from one server.
inline constexpr mcp::MessageBounds kServerMessage{
    .bytes = 6 << 20, .depth = 64, .values = 200'000};

/// Used from one event loop.
class ServerLink {
 public:
  virtual ~ServerLink() = default;

  /// Sends `request`, over HTTP with `headers`, and waits for its answer. A
  /// server that asks for something meanwhile gets what LinkEvents::asked says.
  /// The caller has set this_coro::throw_if_cancelled(false).
  /// Errors: E_TIMEOUT, E_CANCELLED  and the server is told; E_BUSY  too many
  ///         wait, and nothing was sent; E_UPSTREAM  the link is closed, or
  ///         what came is no answer; E_LIMIT  it is over a bound.
  [[nodiscard]] virtual base::Task<Outcome<Reply>> ask(mcp::Request request, HeaderValues headers,
                                                       base::Deadline deadline) = 0;
  /// Sends a notification, or gives up in silence.
  [[nodiscard]] virtual base::Task<void> tell(mcp::Notification notification,
                                              base::Deadline deadline) = 0;
  /// Opens the way for what a server of the older era says without being asked,
  /// where the transport has one of its own; a server may offer none.
  [[nodiscard]] virtual base::Task<void> listen(base::Deadline /*deadline*/) { co_return; }
  /// The revision that was agreed on, for transports that name it.
  virtual void speak(mcp::Revision /*revision*/) {}
  /// Ends it; what waits gets E_UPSTREAM. No event follows.
  virtual void close() = 0;
  /// Returns when nothing of it runs any more; after close().
  [[nodiscard]] virtual base::Task<void> finish() = 0;
  /// For the log, after finish(): how the server ended and its last words.
  [[nodiscard]] virtual std::string last_words() const { return {}; }
};

/// What this side says to a request of a server: a ping is answered; sampling,
/// elicitation and roots are refused unless `events` know better, for a foreign
/// server has nothing to ask of our model, our people or our files.
[[nodiscard]] std::string answer_to(const mcp::Request& request, const LinkEvents& events);

/// How much a server may send without being asked: a burst, and then a rate.
/// Over it the link is closed, since reading costs us as writing costs it.
class Meter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr double kMessages = 1'000;
  static constexpr double kMessagesPerSecond = 50;
  static constexpr double kBytes = 64 << 20;
  static constexpr double kBytesPerSecond = 8 << 20;

  /// False where this message is too much. `unasked`: no answer to a request.
  [[nodiscard]] bool take(std::size_t bytes, bool unasked, Time now);

 private:
  double messages_ = kMessages;
  double bytes_ = kBytes;
  std::optional<Time> before_;
};

}  // namespace tool::bridge
