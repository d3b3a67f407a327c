#include "toolserver/transport/credential_check.h"

#include <algorithm>
#include <utility>

#include "toolserver/federation/proof/link_proof.h"
#include "toolserver/session/credentials.h"

namespace tool::transport {

namespace {

Outcome<Principal> caller_of(const base::jose::Claims& claims, const AccessTokens& tokens) {
  auto principal = session::principal_of(claims, Method::kOauth2, tokens.rules.leeway);
  if (!principal) return principal;
  auto grant = session::with_roles(tokens.roles, claims.all(),
                                   {std::move(principal->scopes), std::move(principal->details)});
  if (!grant) return std::move(grant).error();
  principal->scopes = std::move(grant->scopes);
  principal->details = std::move(grant->details);
  return principal;
}

}  // namespace

CredentialCheck::CredentialCheck(const CredentialRules& rules, const base::Clock& clock,
                                 std::unique_ptr<base::jose::KeyCache> keys)
    : rules_(rules), clock_(clock), keys_(std::move(keys)) {}

base::Result<std::unique_ptr<CredentialCheck>> CredentialCheck::create(
    boost::asio::any_io_executor loop, const CredentialRules& rules, const base::Clock& clock) {
  std::unique_ptr<base::jose::KeyCache> keys;
  if (rules.access_tokens && !rules.access_tokens->key) {
    ASSIGN_OR_RETURN(
        keys, base::jose::KeyCache::create(std::move(loop), rules.access_tokens->keys, clock));
  }
  return std::unique_ptr<CredentialCheck>(new CredentialCheck(rules, clock, std::move(keys)));
}

base::Task<Outcome<Principal>> CredentialCheck::verify(base::RequestContext context,
                                                       Presented presented) {
  Binding proved = presented.proved;
  auto principal = co_await verify_method(context, std::move(presented));
  if (!principal) co_return principal;
  if (session::is_token(principal->method)) {
    auto bound = session::check_binding(principal->bound_to, proved, rules_.unbound);
    if (!bound) co_return std::move(bound).error();
  }
  const DenyList& denied = rules_.denied;
  if (denied.subjects.contains(principal->subject)) {
    co_return session::wrong_credential("the subject is on the deny list");
  }
  if (denied.token_ids.contains(principal->token_id)) {
    co_return session::wrong_credential("the token is on the deny list");
  }
  co_return principal;
}

base::Task<Outcome<Principal>> CredentialCheck::verify_method(base::RequestContext context,
                                                              Presented presented) {
  switch (presented.method) {
    case Method::kApiKey: co_return api_key(presented);
    case Method::kMtls: co_return certificate(presented);
    case Method::kJwt:
      if (!rules_.client_tokens) break;
      co_return client_token(presented);
    case Method::kOauth2:
      if (!rules_.access_tokens) break;
      co_return co_await access_token(context, std::move(presented.credential));
    case Method::kNode:
      if (!rules_.nodes) break;
      co_return node(presented);
    case Method::kSession: break;  // Verified is what opened that session: session_run.cc.
  }
  co_return session::wrong_credential("a method that is not configured");
}

Outcome<Principal> CredentialCheck::api_key(const Presented& presented) const {
  if (session::is_of_named_key(presented.credential.reveal())) {
    return session::verify_named_key(presented.credential.reveal(), rules_.api_keys, presented.th1,
                                     rules_.node_id, clock_.now(),
                                     clock_.now() + rules_.api_key_life);
  }
  session::ApiKeyPrincipal principal;
  principal.issuer = rules_.node_id;
  principal.scopes = rules_.api_key_scopes;
  principal.expires_at = clock_.now() + rules_.api_key_life;
  auto verified = session::verify_api_key(presented.credential.reveal(), rules_.api_key,
                                          presented.th1, principal);
  if (verified || rules_.api_key_previous.empty()) return verified;
  return session::verify_api_key(presented.credential.reveal(), rules_.api_key_previous,
                                 presented.th1, std::move(principal));
}

Outcome<Principal> CredentialCheck::client_token(const Presented& presented) const {
  auto verified = rules_.client_tokens->verify(presented.credential.reveal(), clock_.now());
  bool wrong = !verified && verified.error().code == Code::kAuth;
  if (!wrong || !rules_.client_tokens_previous) return verified;
  return rules_.client_tokens_previous->verify(presented.credential.reveal(), clock_.now());
}

Outcome<Principal> CredentialCheck::certificate(const Presented& presented) const {
  if (presented.certificate_subject.empty() || !presented.credential.empty()) {
    return session::wrong_credential("no client certificate was shown");
  }
  // The handshake checked it; a session may be asked again long after that.
  if (presented.certificate_end <= clock_.now()) {
    return refuse(Code::kExpired, "the credential is past its time");
  }
  Principal principal;
  principal.subject = presented.certificate_subject;
  principal.issuer = rules_.node_id;
  principal.method = Method::kMtls;
  auto own = rules_.subject_scopes.find(principal.subject);
  Grant grant = own == rules_.subject_scopes.end() ? Grant{rules_.certificate_scopes} : own->second;
  principal.scopes = std::move(grant.scopes);
  principal.details = std::move(grant.details);
  principal.expires_at =
      std::min<base::WallTime>(clock_.now() + rules_.api_key_life, presented.certificate_end);
  return principal;
}

// A node's name is no name of a caller: what one of them is granted or denied,
// or has used up, is never the other's.
Outcome<Principal> CredentialCheck::node(const Presented& presented) const {
  auto name = federation::verify_node_credential(*rules_.nodes, presented.credential.reveal(),
                                                 presented.th1, clock_.now());
  if (!name) return std::move(name).error();
  Principal principal;
  principal.subject = std::move(*name);
  principal.issuer = std::string(kNodeIssuer) + principal.subject;
  principal.method = Method::kNode;
  auto own = rules_.scopes_of_nodes.find(principal.subject);
  Grant grant = own == rules_.scopes_of_nodes.end() ? Grant{rules_.node_scopes} : own->second;
  principal.scopes = std::move(grant.scopes);
  principal.details = std::move(grant.details);
  principal.expires_at = clock_.now() + rules_.api_key_life;
  return principal;
}

base::Task<Outcome<Principal>> CredentialCheck::access_token(base::RequestContext context,
                                                             base::Secret token) {
  const AccessTokens& tokens = *rules_.access_tokens;
  if (tokens.key) {
    auto claims = base::jose::verify(token.reveal(), *tokens.key, tokens.rules, clock_.now());
    if (!claims) co_return session::credential_fault(claims.error());
    co_return caller_of(*claims, tokens);
  }
  auto claims = co_await keys_->verify(context, token.reveal(), tokens.rules);
  if (!claims) co_return session::credential_fault(claims.error());
  co_return caller_of(*claims, tokens);
}

base::Task<void> CredentialCheck::finish() {
  if (keys_) co_await keys_->wait();
}

}  // namespace tool::transport
