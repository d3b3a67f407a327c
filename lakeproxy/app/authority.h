#pragma once

// What the process knows of its clients and their tokens, as the settings say.

#include <memory>
#include <optional>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/log/logger.h"
#include "lakeproxy/auth/access_tokens.h"
#include "lakeproxy/auth/clients.h"
#include "lakeproxy/auth/provider_tokens.h"
#include "lakeproxy/auth/rate_limits.h"
#include "lakeproxy/auth/standing.h"
#include "lakeproxy/auth/token_grants.h"
#include "lakeproxy/settings/settings.h"

namespace lake::app {

/// Of the process; safe from any thread.
class Authority {
 public:
  /// Null where neither clients nor a provider are configured: authentication is off. `clock` and
  /// `random` outlive it.
  /// Errors: kInvalid  the clients or a secret, with the name of the setting.
  [[nodiscard]] static base::Result<std::unique_ptr<Authority>> create(
      const settings::Auth& settings, const base::Clock& clock, base::Random& random);
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  [[nodiscard]] const auth::Clients& clients() const { return clients_; }
  /// Null without clients, as the next two.
  [[nodiscard]] const auth::AccessTokens* tokens() const { return tokens_ ? &*tokens_ : nullptr; }
  [[nodiscard]] auth::TokenGrants* grants() { return grants_ ? &*grants_ : nullptr; }
  [[nodiscard]] auth::GuessLimits* guesses() { return guesses_ ? &*guesses_ : nullptr; }
  /// Nothing without a provider.
  [[nodiscard]] const std::optional<auth::ProviderOptions>& provider() const { return provider_; }
  /// Whether others on this machine may read the clients' file.
  [[nodiscard]] bool file_is_open() const { return file_is_open_; }

 private:
  Authority() = default;
  base::Status read_clients(const settings::Auth& settings);
  base::Status make_tokens(const settings::Auth& settings, const base::Clock& clock,
                           base::Random& random);

  auth::Clients clients_;
  std::optional<auth::AccessTokens> tokens_;
  std::optional<auth::TokenGrants> grants_;
  std::optional<auth::GuessLimits> guesses_;
  std::optional<auth::ProviderOptions> provider_;
  bool file_is_open_ = false;
};

}  // namespace lake::app
