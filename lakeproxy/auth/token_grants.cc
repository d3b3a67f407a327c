#include "lakeproxy/auth/token_grants.h"

#include <algorithm>
#include <array>

namespace lake::auth {
namespace {

using base::ErrorKind;

constexpr int kMostHashes = 32;
constexpr std::string_view kClientCredentials = "client_credentials";
constexpr std::string_view kExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr std::string_view kAccessToken = "urn:ietf:params:oauth:token-type:access_token";

// What Iceberg's clients and DuckDB ask for when nobody has told them what: no scope of ours.
constexpr std::array<std::string_view, 2> kClientsOwn{"catalog", "PRINCIPAL_ROLE:ALL"};

base::Error wrong_client() {
  return base::fail(ErrorKind::kUnauthenticated, "The client is unknown or its secret is wrong.")
      .with_reason(kInvalidClient);
}

base::Result<Scopes> granted(const Scopes& held, const std::string& asked) {
  if (asked.empty() || std::ranges::count(kClientsOwn, asked) > 0) return held;
  auto wanted = Scopes::parse(asked, OtherWords::kRefused);
  if (!wanted) return std::move(wanted).error().with_reason(kInvalidScope);
  Scopes both = held.both(*wanted);
  if (both.empty()) {
    return base::fail(ErrorKind::kInvalid, "scope: the client has nothing of it")
        .with_reason(kInvalidScope);
  }
  return both;
}

}  // namespace

TokenGrants::TokenGrants(const Clients& clients, const AccessTokens& tokens,
                         std::chrono::seconds renewal)
    : clients_(&clients),
      tokens_(&tokens),
      renewal_(renewal),
      nobodys_(StoredSecret::make("nobody's").value()) {
  if (clients.has_hashes()) hashing_ = std::make_unique<base::BlockingPool>(1);
}

base::Task<base::Result<bool>> TokenGrants::shows_secret(const Client* client, ShownClient shown) {
  const StoredSecret& stored = client != nullptr ? client->secret : nobodys_;
  auto try_each = [](const StoredSecret& secret, const ShownClient& given, auto&& matches) {
    return matches(secret, given.secret.reveal()) ||
           (given.undecoded && matches(secret, given.undecoded->reveal()));
  };
  if (!stored.is_hash()) {
    const bool same = try_each(stored, shown, [](const StoredSecret& secret, const auto& text) {
      return secret.equals(text);
    });
    co_return same&& client != nullptr;
  }
  if (hashes_.fetch_add(1) >= kMostHashes) {
    hashes_.fetch_sub(1);
    co_return base::fail(ErrorKind::kRateLimited, "Too many clients ask for tokens.");
  }
  auto check = [&stored, &shown, &try_each] {
    return try_each(stored, shown, [](const StoredSecret& secret, const auto& text) {
      return secret.is_hash_of(text);
    });
  };
  const bool same = co_await hashing_->run(check);
  hashes_.fetch_sub(1);
  co_return same;
}

// A new token for the client of one that is still good, with no more than that one allows.
base::Result<IssuedToken> TokenGrants::renew(const TokenRequest& request) const {
  auto subject = request.subject_token_type == kAccessToken
                     ? tokens_->verify(request.subject_token.reveal())
                     : base::Result<Verified>(base::fail(ErrorKind::kInvalid, "another type"));
  if (!subject) {
    return base::fail(ErrorKind::kInvalid, "subject_token: must be a valid access token")
        .with_reason(kInvalidGrant);
  }
  if (tokens_->now() > subject->shown_at + renewal_) {
    return base::fail(ErrorKind::kInvalid, "subject_token: the client must show its secret again")
        .with_reason(kInvalidGrant);
  }
  ASSIGN_OR_RETURN(Scopes scopes, granted(subject->principal.grants->scopes, request.scope));
  return tokens_->issue(*clients_->find(subject->principal.subject), std::move(scopes),
                        subject->shown_at);
}

base::Task<base::Result<IssuedToken>> TokenGrants::grant(base::RequestContext,
                                                         TokenRequest request) {
  const bool exchanges = request.grant_type == kExchange;
  if (!exchanges && request.grant_type != kClientCredentials) {
    co_return base::fail(ErrorKind::kInvalid,
                         "grant_type: must be client_credentials or token-exchange")
        .with_reason(kUnsupportedGrant);
  }
  // A client that shows its secret gets what it may do, whatever token it has besides.
  if (exchanges && request.client.id.empty()) co_return renew(request);
  const Client* client = clients_->find(request.client.id);
  CO_ASSIGN_OR_RETURN(bool shown, co_await shows_secret(client, std::move(request.client)));
  if (!shown) co_return wrong_client();
  CO_ASSIGN_OR_RETURN(Scopes scopes, granted(client->scopes, request.scope));
  co_return tokens_->issue(*client, std::move(scopes), tokens_->now());
}

}  // namespace lake::auth
