#pragma once

// Who may have a token, and what for: the client shows its secret, and gets what it asks for of
// what it may do, never more. Iceberg's Java client renews a token by exchanging it, without the
// secret; that goes on for a bounded time, since whoever has stolen a token could do it as well.
// Sources: RFC 6749, sections 4.4 and 5; RFC 8693; Iceberg REST description, "getToken".

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "lakeproxy/auth/access_tokens.h"
#include "lakeproxy/auth/authorization.h"
#include "lakeproxy/auth/subject_statements.h"

namespace lake::auth {

/// reason() of a refusal, as the answer names it. Source: RFC 6749, section 5.2.
inline constexpr std::string_view kInvalidRequest = "invalid_request";
inline constexpr std::string_view kInvalidClient = "invalid_client";
inline constexpr std::string_view kInvalidGrant = "invalid_grant";
inline constexpr std::string_view kInvalidScope = "invalid_scope";
inline constexpr std::string_view kUnsupportedGrant = "unsupported_grant_type";

struct TokenRequest {
  std::string grant_type;
  std::string scope;  ///< Empty: all that the client, or the token that is renewed, may do.
  ShownClient client;
  base::Secret subject_token;      ///< The token to renew, or of whom the actor acts for.
  std::string subject_token_type;  ///< Of it.
  std::optional<base::Secret> actor_token = {};  ///< Of whom acts for the subject.
  std::string actor_token_type = {};
};

/// Whom a token speaks for, of ours or of the provider. Errors: those of Authenticator.
using VerifyToken =
    std::function<base::Task<base::Result<Verified>>(base::RequestContext, std::string)>;

/// Of the process; thread-safe.
class TokenGrants {
 public:
  /// Both outlive it. Tokens are renewed until `renewal` after the client has shown its secret.
  /// `provider` is the issuer of the identity provider's tokens; empty without one.
  TokenGrants(const Clients& clients, const AccessTokens& tokens, std::chrono::seconds renewal,
              std::string provider = {});

  /// What is left of a token that was given just now.
  [[nodiscard]] std::chrono::seconds time_left(const IssuedToken& token) const;
  /// Errors, each with a reason above: kUnauthenticated  no such client, or another secret, which
  ///         look the same; kInvalid  another grant, a scope of which the client has nothing, or a
  ///         token that cannot be renewed;
  ///         kRateLimited  too many hashed secrets are being checked.
  /// Tokens of subjects that act through somebody else are verified by `verify`, which outlives
  /// the task; without it only ours are taken.
  [[nodiscard]] base::Task<base::Result<IssuedToken>> grant(base::RequestContext context,
                                                            TokenRequest request,
                                                            const VerifyToken* verify = nullptr);
  /// Whether it is the name of a client: others may be anything, secrets too, and are not logged.
  [[nodiscard]] bool knows(std::string_view client_id) const {
    return clients_->find(client_id) != nullptr;
  }

 private:
  [[nodiscard]] base::Task<base::Result<bool>> shows_secret(const Client* client,
                                                            ShownClient shown);
  [[nodiscard]] base::Result<IssuedToken> renew(const TokenRequest& request) const;
  [[nodiscard]] base::Task<base::Result<IssuedToken>> delegate(base::RequestContext context,
                                                               TokenRequest request,
                                                               const VerifyToken* verify);

  [[nodiscard]] base::Result<Principal> stated_subject(const Client& service,
                                                       const Statement& said) const;
  [[nodiscard]] base::Task<base::Result<Verified>> subject_of(base::RequestContext context,
                                                              const TokenRequest* request,
                                                              std::string actor,
                                                              const VerifyToken* verify);

  const Clients* clients_;
  const AccessTokens* tokens_;
  SubjectStatements statements_;
  std::chrono::seconds renewal_;
  std::string provider_;
  StoredSecret nobodys_;  ///< What the secret of an unknown client is held against.
  std::unique_ptr<base::BlockingPool> hashing_;  ///< Null where no secret is a hash.
  std::atomic<int> hashes_ = 0;                  ///< Being checked, or waiting for it.
};

}  // namespace lake::auth
