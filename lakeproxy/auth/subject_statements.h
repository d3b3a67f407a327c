#pragma once

// Whom a service asks for. A service that has authenticated its own callers cannot show a token of
// this server for each of them; it signs a short statement instead, "I ask for dana", with a key
// that its client's configuration names. A statement is good for one lake, one service and one
// exchange, and of no use without the service's own token.
// Sources: RFC 8693, section 2.1 (subject_token); RFC 7523, section 3; RFC 8725.

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "lakeproxy/auth/clients.h"

namespace lake::auth {

/// The `typ` of a statement's header.
inline constexpr std::string_view kStatementType = "lake-subject+jwt";
/// From `iat` to `exp` at most; what is given for it ends with it.
inline constexpr std::chrono::seconds kLongestStatement{300};

struct Statement {
  std::string subject;
  std::string issuer;  ///< Whose user it is: of an identity provider. Empty: a client of ours.
  base::WallTime ends;
};

/// Thread-safe.
class SubjectStatements {
 public:
  /// `audience` is the name of this lake: LAKEPROXY_OAUTH_ISSUER.
  explicit SubjectStatements(std::string audience) : audience_(std::move(audience)) {}

  /// What `service` states, at the time `now`. It is taken once: the same again is refused, for as
  /// long as it would be good, by this process.
  /// Claims: iss, the service's id; sub; sub_iss, of a user of the provider; aud, this lake; iat,
  /// exp, jti.
  /// Errors: kUnauthenticated  signed by no key of the service, another lake's, expired, too long,
  ///         or taken already; kRateLimited  more are remembered than the bound of 100,000.
  [[nodiscard]] base::Result<Statement> take(const Client& service, std::string_view token,
                                             base::WallTime now);

 private:
  [[nodiscard]] base::Status remember(std::string id, base::WallTime until, base::WallTime now);

  const std::string audience_;
  std::mutex mutex_;
  std::map<std::string, base::WallTime> taken_;  ///< Until when, by service and jti. Guarded.
};

}  // namespace lake::auth
