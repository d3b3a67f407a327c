#pragma once

// The login of one bridged server: the token that its requests carry, and what
// is done when the server refuses one. A server says where its authorisation
// server is; a token is for that one server and comes from that one issuer, and
// what was had from another issuer is forgotten first.
// Sources: Model Context Protocol 2026-07-28, "Authorization"; OAuth 2.1; RFC
// 7636 (PKCE); RFC 8707 (resource); RFC 9207 (iss); docs/adr/0133.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/runtime/workers.h"
#include "toolserver/mcp_login/login_store.h"
#include "toolserver/mcp_login/token_endpoint.h"
#include "toolserver/model/fault.h"

namespace tool::login {

enum class Grant : std::uint8_t {
  kAuthorizationCode,  ///< A person signs in.
  kClientCredentials,  ///< The service is the client, with credentials of its own.
};

struct LoginOptions {
  std::string bridge;      ///< Its name, for what an operator is told.
  std::string server_url;  ///< Of the bridged server.
  Grant grant = Grant::kAuthorizationCode;
  std::string client_id;  ///< Empty: by `client_url`, or registered.
  base::Secret client_secret;
  base::Secret private_key;           ///< PEM.
  std::string client_url;             ///< Of the client's own metadata document.
  std::string issuer;                 ///< The only one that is taken; any when empty.
  Scopes scopes;                      ///< Asked for besides what the server names.
  std::vector<std::string> networks;  ///< That the authorisation server may be in.
  std::string ca_file;
  /// A token that is there is not used: a person is to sign in anew.
  bool ask_anew = false;
};

/// What a person opens in a browser, and the state that comes back.
struct AuthorizationRequest {
  std::string url;
  std::string state;
};

/// Somebody at a browser.
struct Person {
  std::string redirect_uri;
  /// The target of the redirect that carries the state: path and query.
  std::function<base::Task<base::Result<std::string>>(AuthorizationRequest)> sign_in;
};

/// What a login stands on; `clock` and `random` outlive it, as `pool` does.
struct LoginParts {
  boost::asio::any_io_executor loop;
  const base::Clock& clock;
  base::Random& random;
  base::BlockingPool& pool;
  std::optional<LoginStore> store = {};  ///< Nothing: in memory alone.
  std::optional<Person> person = {};     ///< Nothing: nobody can sign in.
};

/// What a server's refusal says.
struct Refusal {
  unsigned status = 401;  ///< Or 403.
  std::string challenge;  ///< The value of WWW-Authenticate.
  base::Secret used;      ///< The token of the request; empty when it had none.
};

/// Whether this is for a login to mend: a 401, or a 403 that names a scope.
[[nodiscard]] bool is_challenge(unsigned status, std::string_view challenge);

/// Belongs to one event loop; not thread-safe.
class Login {
 public:
  /// Asks nothing yet.
  /// Errors: kInvalid  server_url is no URL; kForbidden  it is plaintext to
  ///         another machine.
  [[nodiscard]] static base::Result<std::unique_ptr<Login>> create(LoginOptions options,
                                                                   LoginParts parts);
  ~Login();

  /// Reads what is stored; once, before the first request.
  /// Errors: as LoginStore::read().
  [[nodiscard]] base::Task<base::Status> open();

  /// The token for a request now; empty where there is none, or it has expired.
  [[nodiscard]] base::Secret token() const;

  /// After a refusal: gets a token that may serve better, so that the request can
  /// be made once more. Those who are refused at once share one renewal.
  /// Errors: E_BUSY  somebody has to sign in, or what has to be asked is away;
  ///         E_POLICY  a rule forbids to go on: an issuer, resource or address that
  ///         is not to be trusted, no PKCE, or a scope that was asked for and is
  ///         refused still; E_TIMEOUT, E_CANCELLED.
  [[nodiscard]] base::Task<Outcome<void>> renew(Refusal refusal, base::Deadline until);

  /// Returns when no renewal runs; before this is destroyed while its loop runs.
  [[nodiscard]] base::Task<void> wait();

 private:
  struct State;
  explicit Login(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// The code of a redirect, after every check of it.
/// Errors: kInvalid  a parameter comes twice, `state` is another one, or there is
///         no code; kForbidden  `iss` is not `issuer`, or is absent where
///         `sends_issuer`; kUnauthenticated  the answer is an error, whose code is
///         told only when `iss` is right.
[[nodiscard]] base::Result<std::string> read_redirect(std::string_view target,
                                                      const std::string& state,
                                                      const ServerMetadata& server);

}  // namespace tool::login
