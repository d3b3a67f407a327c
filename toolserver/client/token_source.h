#pragma once

// A session can outlive every credential that opened it, so the client keeps
// the way to get one, and takes a fresh one for each connection and refresh.

#include <memory>

#include "base/core/clock.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/client/client_options.h"
#include "toolserver/model/fault.h"

namespace tool::client {

/// The identity provider of the options, or else their `fresh_token`. Belongs
/// to one event loop; shared by a client and its connections.
class TokenSource {
 public:
  /// Null when the options name neither: their token is then the only one.
  /// `clock` outlives it.
  /// Errors: E_SHAPE  the provider's URL, or an empty client id or secret.
  [[nodiscard]] static Outcome<std::shared_ptr<TokenSource>> create(
      boost::asio::any_io_executor loop, const ClientOptions& options, const base::Clock& clock);

  /// A token that was not given out before.
  /// Errors: E_AUTH  the provider refuses this client; E_UPSTREAM, E_TIMEOUT,
  ///         E_CANCELLED  none can be had just now.
  [[nodiscard]] base::Task<Outcome<base::Secret>> fresh(base::RequestContext context);
  /// Returns when nothing is asked of the provider any more.
  [[nodiscard]] base::Task<void> wait();

 private:
  std::unique_ptr<base::jose::ClientCredentials> provider_;
  std::function<base::Task<base::Result<base::Secret>>()> asked_;
};

}  // namespace tool::client
