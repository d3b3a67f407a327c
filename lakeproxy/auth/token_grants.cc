#include "lakeproxy/auth/token_grants.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/crypto/password_hash.h"
#include "lakeproxy/auth/token_claims.h"

namespace lake::auth {
namespace {

using base::ErrorKind;

constexpr int kMostHashes = 32;
constexpr std::string_view kClientCredentials = "client_credentials";
constexpr std::string_view kExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr std::string_view kJwt = "urn:ietf:params:oauth:token-type:jwt";
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

// Compared with for as long as a client's own: by the time nobody learns which names there are.
StoredSecret nobodys_secret(const Clients& clients) {
  base::SystemRandom random;
  const std::string text = "nobody's";
  return StoredSecret::make(clients.has_hashes() ? base::crypto::hash_password(text, random) : text)
      .value();
}

}  // namespace

TokenGrants::TokenGrants(const Clients& clients, const AccessTokens& tokens,
                         std::chrono::seconds renewal, std::string provider)
    : clients_(&clients),
      tokens_(&tokens),
      statements_(tokens.issuer()),
      renewal_(renewal),
      provider_(std::move(provider)),
      nobodys_(nobodys_secret(clients)) {
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
  co_return same&& client != nullptr;
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
  // A delegation ends with the subject's token.
  if (!subject->actors.empty() || tokens_->now() > subject->shown_at + renewal_) {
    return base::fail(ErrorKind::kInvalid, "subject_token: the client must show its secret again")
        .with_reason(kInvalidGrant);
  }
  ASSIGN_OR_RETURN(Scopes scopes, granted(subject->principal.grants->scopes, request.scope));
  return tokens_->issue(*clients_->find(subject->principal.subject), std::move(scopes),
                        subject->shown_at);
}

std::chrono::seconds TokenGrants::time_left(const IssuedToken& token) const {
  return std::max(std::chrono::round<std::chrono::seconds>(token.ends - tokens_->now()),
                  std::chrono::seconds(0));
}

// A client, with what its configuration says; or a user of the provider, with what the service's
// says of its users, in the service's own account.
base::Result<Principal> TokenGrants::stated_subject(const Client& service,
                                                    const Statement& said) const {
  if (said.issuer.empty()) {
    const Client* subject = clients_->find(said.subject);
    if (subject != nullptr) return tokens_->principal_for(*subject);
    return base::fail(ErrorKind::kUnauthenticated, "the subject is no client");
  }
  if (provider_.empty() || said.issuer != provider_ || !service.users ||
      !service.users->holds(said.subject) || !is_user_name(said.subject)) {
    return base::fail(ErrorKind::kUnauthenticated, "the subject is no user of whom it may state");
  }
  Grants grants{.scopes = service.users->scopes, .roles = service.users->roles};
  return Principal{.subject = said.subject,
                   .account = service.account,
                   .issuer = said.issuer,
                   .grants = std::make_shared<const Grants>(std::move(grants))};
}

// A token of the subject, or what the actor states of it.
base::Task<base::Result<Verified>> TokenGrants::subject_of(base::RequestContext context,
                                                           const TokenRequest* request,
                                                           std::string actor,
                                                           const VerifyToken* verify) {
  const std::string_view token = request->subject_token.reveal();
  if (request->subject_token_type != kJwt) {
    if (verify == nullptr) co_return tokens_->verify(token);
    co_return co_await (*verify)(context, std::string(token));
  }
  const Client& service = *clients_->find(actor);
  CO_ASSIGN_OR_RETURN(const Statement said, statements_.take(service, token, tokens_->now()));
  CO_ASSIGN_OR_RETURN(Principal subject, stated_subject(service, said));
  co_return Verified{
      .principal = std::move(subject), .until = said.ends, .shown_at = {}, .ends = said.ends};
}

// The actor shows a token of its own; what it gets is what both may do, for as long as the
// subject's token lasts.
// Source: RFC 8693, sections 2.1 and 4.1.
base::Task<base::Result<IssuedToken>> TokenGrants::delegate(base::RequestContext context,
                                                            TokenRequest request,
                                                            const VerifyToken* verify) {
  auto refused = [](std::string message) {
    return base::fail(ErrorKind::kInvalid, std::move(message)).with_reason(kInvalidGrant);
  };
  const bool states = request.subject_token_type == kJwt;
  if ((!states && request.subject_token_type != kAccessToken) ||
      request.actor_token_type != kAccessToken) {
    co_return refused(
        "subject_token_type: must be of an access token or a jwt; actor_token_type: of an access "
        "token");
  }
  auto actor = tokens_->verify(request.actor_token->reveal());
  if (!actor || !actor->actors.empty()) {
    co_return refused(
        "actor_token: must be the valid access token of a client, not of a delegation");
  }
  const std::string& name = actor->principal.subject;
  if (!request.client.id.empty() && request.client.id != name) {
    co_return refused("actor_token: must be of the client that asks");
  }
  auto subject = co_await subject_of(context, &request, name, verify);
  if (!subject && subject.error().kind() != ErrorKind::kUnauthenticated) {
    co_return std::move(subject).error();
  }
  if (!subject || subject->ends <= tokens_->now()) {
    co_return refused(states
                          ? "subject_token: must be a new statement of the actor, for this lake, "
                            "about a client or one of its users"
                          : "subject_token: must be a valid access token");
  }
  if (!subject->actors.empty() && subject->principal.issuer != actor->principal.issuer) {
    co_return refused("subject_token: is a delegation of another issuer already");
  }
  std::vector<std::string> actors = subject->actors;
  if (actors.size() >= kMostActors || std::ranges::count(actors, name) > 0) {
    co_return refused("subject_token: too many act for the subject already");
  }
  actors.insert(actors.begin(), name);
  const Scopes both = subject->principal.grants->scopes.both(actor->principal.grants->scopes);
  CO_ASSIGN_OR_RETURN(Scopes scopes, granted(both, request.scope));
  if (scopes.empty()) {
    co_return base::fail(ErrorKind::kInvalid, "scope: subject and actor have nothing in common")
        .with_reason(kInvalidScope);
  }
  auto issued = tokens_->issue(Delegation{.subject = std::move(subject->principal),
                                          .actors = std::move(actors),
                                          .scopes = std::move(scopes),
                                          .ends = subject->ends});
  if (!issued && issued.error().kind() == ErrorKind::kUnauthenticated) {
    co_return refused("actor_token: its client may not act for the subject");
  }
  co_return issued;
}

base::Task<base::Result<IssuedToken>> TokenGrants::grant(base::RequestContext context,
                                                         TokenRequest request,
                                                         const VerifyToken* verify) {
  const bool exchanges = request.grant_type == kExchange;
  if (!exchanges && request.grant_type != kClientCredentials) {
    co_return base::fail(ErrorKind::kInvalid,
                         "grant_type: must be client_credentials or token-exchange")
        .with_reason(kUnsupportedGrant);
  }
  const bool delegates = exchanges && request.actor_token;
  if (exchanges && request.client.id.empty()) {
    if (delegates) co_return co_await delegate(context, std::move(request), verify);
    co_return renew(request);
  }
  const Client* client = clients_->find(request.client.id);
  CO_ASSIGN_OR_RETURN(bool shown, co_await shows_secret(client, request.client));
  if (!shown) co_return wrong_client();
  if (delegates) co_return co_await delegate(context, std::move(request), verify);
  // A client that shows its secret gets what it may do, whatever token it has besides.
  CO_ASSIGN_OR_RETURN(Scopes scopes, granted(client->scopes, request.scope));
  co_return tokens_->issue(*client, std::move(scopes), tokens_->now());
}

}  // namespace lake::auth
