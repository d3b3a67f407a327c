#pragma once

// Whether what somebody was given earlier may still be used. A key lives on for an hour or more;
// who holds it may have been taken out of the configuration since, or been given less.

#include <string>

#include "base/core/result.h"
#include "lakeproxy/auth/clients.h"
#include "lakeproxy/auth/principal.h"

namespace lake::auth {

/// Immutable; safe from any thread.
class Standing {
 public:
  /// Of a server without authentication: everybody is the operator's own.
  Standing() = default;
  /// `clients` outlives it. `provider` is empty where there is none.
  Standing(const Clients& clients, std::string issuer, std::string provider)
      : clients_(&clients), issuer_(std::move(issuer)), provider_(std::move(provider)) {}

  /// The principal as it was then, where it could be given the same now: as access tokens, which
  /// are held against their client too. Of a provider's users nothing newer is known than when
  /// they came.
  /// Errors: kForbidden  not any more; the detail says why.
  [[nodiscard]] base::Result<Principal> check(const Principal& then) const;

 private:
  const Clients* clients_ = nullptr;  ///< Null: authentication is off.
  std::string issuer_;
  std::string provider_;
};

}  // namespace lake::auth
