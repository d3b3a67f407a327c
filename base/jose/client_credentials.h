#pragma once

// How a program without a user gets an access token: it shows its own
// credentials to the identity provider. The token is kept until shortly before
// it expires, and callers that need a new one share the request.
// Sources: RFC 6749, sections 2.3.1, 4.4 and 5; RFC 8707 (resource).

#include <chrono>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/jose/endpoint.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/task_group.h"

namespace base::jose {

struct ClientCredentialsOptions {
  std::string token_url;  ///< https.
  std::string client_id;
  Secret client_secret;
  std::string scope;     ///< Words separated by a space; not sent when empty.
  std::string audience;  ///< Parameter of several providers; not sent when empty.
  std::string resource;  ///< RFC 8707; not sent when empty.
  std::string ca_file;   ///< PEM with the trusted roots; the system's when empty.
  PlainHttp plain_http = PlainHttp::kRefused;
  /// How long before its end a token is renewed; a tenth of its lifetime at most.
  std::chrono::seconds renew_before{60};
  std::chrono::milliseconds request_time{10'000};
};

struct AccessToken {
  Secret value;
  WallTime expires_at;
};

/// Belongs to one event loop; not thread-safe.
class ClientCredentials {
 public:
  /// `clock` outlives this. Asks nothing yet.
  /// Errors: kInvalid  the URL, or an empty client id or secret.
  [[nodiscard]] static Result<std::unique_ptr<ClientCredentials>> create(
      boost::asio::any_io_executor loop, ClientCredentialsOptions options, const Clock& clock);
  ~ClientCredentials();

  /// A token that is valid now.
  /// Errors: kUnauthenticated  the provider refuses the client (its error code
  ///         is in detail());
  ///         kUnavailable  it cannot be reached, redirects, or its answer is
  ///         not a bearer token of RFC 6749, section 5.1;
  ///         kTimeout  the context's deadline passed; kCancelled.
  [[nodiscard]] Task<Result<AccessToken>> token(RequestContext context);
  /// Drops the kept token, which a server has refused.
  void forget();

  /// Returns when no request is running, at most request_time later. Await it
  /// before this is destroyed while its loop runs on.
  [[nodiscard]] Task<void> wait();

 private:
  struct State;
  // The coroutines own the state, since this may go before they begin.
  static Task<void> renew(std::shared_ptr<State> state);
  static Task<Result<AccessToken>> token_of(std::shared_ptr<State> state, RequestContext context);
  static Task<void> wait_for(std::shared_ptr<State> state);
  explicit ClientCredentials(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace base::jose
