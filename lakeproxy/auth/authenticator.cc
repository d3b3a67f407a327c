#include "lakeproxy/auth/authenticator.h"

#include <fmt/format.h>

#include <cstring>

#include "lakeproxy/auth/authorization.h"

namespace lake::auth {
namespace {

constexpr std::size_t kMostCached = 4096;

// What is wrong with a token helps whoever made it up; the log has it.
base::Error shown_refusal(const base::Error& error) {
  if (error.kind() != base::ErrorKind::kUnauthenticated) return error;
  const bool expired = error.reason() == base::jose::reason::kExpired;
  std::string why = error.detail().empty() ? error.message() : error.detail();
  return base::fail(error.kind(), expired ? "The token has expired." : "The token is not valid.")
      .with_detail(fmt::format("{}: {}", error.reason(), why))
      .with_reason(error.reason());
}

}  // namespace

std::size_t TokenCache::Hash::operator()(const base::crypto::Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

const Principal* TokenCache::find(const base::crypto::Digest& hash, base::WallTime now) {
  auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return nullptr;
  if (now >= found->second->verified.until) {
    held_.erase(found->second);
    by_hash_.erase(found);
    return nullptr;
  }
  held_.splice(held_.begin(), held_, found->second);
  return &found->second->verified.principal;
}

void TokenCache::put(const base::crypto::Digest& hash, Verified verified) {
  if (by_hash_.contains(hash)) return;
  if (held_.size() >= most_) {
    by_hash_.erase(held_.back().hash);
    held_.pop_back();
  }
  held_.push_front({hash, std::move(verified)});
  by_hash_.emplace(hash, held_.begin());
}

Authenticator::Authenticator(const AccessTokens* tokens, std::unique_ptr<ProviderTokens> provider,
                             const base::Clock& clock)
    : tokens_(tokens), provider_(std::move(provider)), clock_(&clock), cache_(kMostCached) {}

// Each kind of token has one algorithm, and no key serves two.
base::Task<base::Result<Verified>> Authenticator::verify(base::RequestContext context,
                                                         std::string_view token) {
  if (tokens_ != nullptr) {
    auto verified = tokens_->verify(token);
    const bool is_ours = verified || verified.error().reason() != base::jose::reason::kAlgorithm;
    if (is_ours || provider_ == nullptr) co_return verified;
  }
  co_return co_await provider_->verify(context, std::string(token));
}

base::Task<base::Result<Verified>> Authenticator::verify_text(base::RequestContext context,
                                                              std::string token) {
  co_return co_await verify(context, token);
}

base::Task<void> Authenticator::finish() {
  if (provider_ != nullptr) co_await provider_->finish();
}

base::Task<base::Result<Principal>> Authenticator::authenticate(
    base::RequestContext context, const base::http::Headers* headers) {
  CO_ASSIGN_OR_RETURN(const std::string_view token, bearer_of(*headers));
  const auto hash = base::crypto::sha256(token);
  if (const Principal* known = cache_.find(hash, clock_->now())) co_return *known;
  auto verified = co_await verify(context, token);
  if (!verified) co_return shown_refusal(verified.error());
  Principal principal = verified->principal;
  cache_.put(hash, std::move(*verified));
  co_return principal;
}

}  // namespace lake::auth
