#pragma once

// A TCP connection to a server by name, within a time that no name service and
// no silent host can stretch. Shared by the clients of several protocols.

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/http/client.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base::http {

/// Closes a socket when its time is up, so that whatever waits on it ends.
/// Used on the socket's loop.
class Watchdog {
 public:
  /// Borrows the socket.
  explicit Watchdog(boost::asio::ip::tcp::socket& socket);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  void arm(Deadline until);
  void disarm() { state_->timer.expires_at(Deadline::max()); }
  /// Whether it has closed the socket since it was armed.
  [[nodiscard]] bool expired() const { return state_->expired; }

 private:
  // Shared with the timer's handler, which may run after the socket is gone.
  struct State {
    State(boost::asio::steady_timer t, boost::asio::ip::tcp::socket* s)
        : timer(std::move(t)), socket(s) {}
    boost::asio::steady_timer timer;
    boost::asio::ip::tcp::socket* socket;
    bool expired = false;
  };
  std::shared_ptr<State> state_;
};

/// Reason of a kUnavailable: nobody listens at the address, or no way leads
/// there. No request has a part in that; that descriptors or ports ran out here,
/// or that a connection broke while a request was sent, it may have brought about.
inline constexpr std::string_view kNobodyThere = "nobody_there";

/// Resolves `origin` and connects `socket` to the first of its addresses that
/// answers; a name below "localhost" is this machine's. `watchdog` guards the
/// socket and is armed until `until`. Runs with throw_if_cancelled(false) in force.
/// Errors: kUnavailable  no connection, with the reason kNobodyThere where the network said so;
///         kForbidden  `filter` allows none of the addresses; kTimeout  `until` passed; kCancelled.
[[nodiscard]] Task<Status> dial(boost::asio::ip::tcp::socket& socket, Watchdog& watchdog,
                                Origin origin, Deadline until, AddressFilter filter = {});

/// Whether the running coroutine was asked to end.
[[nodiscard]] Task<bool> was_cancelled();

/// The errors of a server that cannot be reached (kUnavailable), did not answer
/// in time (kTimeout), and of a caller that gave up (kCancelled).
[[nodiscard]] Error unavailable(std::string detail);
[[nodiscard]] Error timed_out(std::string detail);
[[nodiscard]] Error cancelled();

}  // namespace base::http
