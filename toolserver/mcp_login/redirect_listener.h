#pragma once

// Where a browser is sent back to after a sign-in: an address of this machine,
// for the one redirect that carries the state. Any page in the browser can call
// it too, and any program of this machine; without the state they get nothing
// and change nothing.
// Source: RFC 8252, section 7.3.

#include <cstdint>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/http/server.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace tool::login {

class RedirectListener {
 public:
  /// On 127.0.0.1; port 0 takes a free one.
  /// Errors: kUnavailable  the port is taken.
  [[nodiscard]] static base::Result<std::unique_ptr<RedirectListener>> start(std::uint16_t port);
  ~RedirectListener();

  /// "http://127.0.0.1:PORT/callback".
  [[nodiscard]] std::string redirect_uri() const;

  /// From here on the redirect with `state` is taken, and no other. Before the
  /// address is shown: a browser may be faster than who waits for it.
  void expect(std::string state);
  /// Waits for that redirect and returns its target: path and query. One at a
  /// time, on one event loop.
  /// Errors: kTimeout  `until` came first; kCancelled.
  [[nodiscard]] base::Task<base::Result<std::string>> wait(base::Deadline until);

 private:
  struct Inbox;
  RedirectListener();
  std::shared_ptr<Inbox> inbox_;
  base::Workers worker_{1};
  std::unique_ptr<base::http::Server> server_;
};

}  // namespace tool::login
