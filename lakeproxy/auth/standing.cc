#include "lakeproxy/auth/standing.h"

#include <algorithm>

#include "lakeproxy/auth/token_claims.h"

namespace lake::auth {
namespace {

base::Error outdated(const char* why) {
  return base::fail(base::ErrorKind::kForbidden, "not allowed any more").with_detail(why);
}

}  // namespace

base::Result<Principal> Standing::check(const Principal& then) const {
  if (clients_ == nullptr) {
    // What was given by a server with clients does not become the operator's.
    if (then.issuer.empty()) return unauthenticated();
    return outdated("of a server that had authentication");
  }
  if (then.issuer.empty() || then.grants == nullptr) return outdated("of an open server");
  if (!provider_.empty() && then.issuer == provider_) return then;
  if (then.issuer != issuer_) return outdated("another issuer");
  const Client* client = clients_->find(then.subject);
  if (client == nullptr) return outdated("no such client");
  if (!then.grants->scopes.within(client->scopes)) return outdated("another scope");
  const bool roles = std::ranges::all_of(then.grants->roles, [&](const std::string& role) {
    return std::ranges::count(client->roles, role) > 0;
  });
  if (!roles) return outdated("other roles");
  if (then.account != client->account) return outdated("another account");
  for (const std::string& name : names_of(then)) {
    const Client* one = clients_->find(name);
    if (one == nullptr || !then.grants->scopes.within(one->scopes)) return outdated("the actor");
  }
  Principal now = then;
  now.superuser = then.superuser && client->scopes.is_administrator();
  return now;
}

}  // namespace lake::auth
