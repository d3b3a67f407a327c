#include "toolserver/connectors/lake/lake_tokens.h"

#include <boost/asio/this_coro.hpp>

#include "base/core/text.h"
#include "base/crypto/encoding.h"
#include "base/jose/jwt.h"
#include "base/json/fields.h"

namespace tool::lake {
namespace {

using base::Slash;
using std::chrono::seconds;

constexpr std::string_view kStatementType = "lake-subject+jwt";
constexpr seconds kStatement{300};
// What is left of a token that is used: a query may take that long.
constexpr seconds kLeft{60};
constexpr std::size_t kMostHeld = 10'000;
constexpr std::string_view kOwn;  // No subject is empty.

std::string field(std::string_view name, std::string_view value) {
  return std::string(name) + '=' + base::percent_encode(value, Slash::kEncode);
}

LakeError no_token(std::string detail) {
  return refused(Code::kUpstream, "lake: the lake gave no token", std::move(detail));
}

base::Result<std::pair<base::Secret, seconds>> read_token(std::string_view body) {
  ASSIGN_OR_RETURN(auto json, base::json::parse(body, {.bytes = 64 << 10, .depth = 8}));
  ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(json, "token"));
  ASSIGN_OR_RETURN(std::string token, fields.string("access_token"));
  ASSIGN_OR_RETURN(const std::int64_t lives, fields.int64("expires_in"));
  const bool good = !token.empty() && token.size() <= base::jose::kMaxTokenBytes && lives > 0 &&
                    token.find_first_of("\r\n ") == std::string::npos;
  if (!good) return base::fail(base::ErrorKind::kInvalid, "token: is none");
  constexpr std::int64_t kMostLife = 86'400;
  return std::pair(base::Secret(std::move(token)), seconds(std::min(lives, kMostLife)));
}

}  // namespace

LakeAnswer<std::string> LakeTokens::statement_of(const std::string& subject) const {
  const base::WallTime now = clock_.now();
  base::json::Object claims{{"iss", options_.client_id},
                            {"sub", subject},
                            {"aud", options_.name},
                            {"iat", base::jose::numeric_date(now)},
                            {"exp", base::jose::numeric_date(now + kStatement)},
                            {"jti", base::to_string(base::make_uuid_v4(random_))}};
  if (options_.subjects == Subjects::kUsers) claims["sub_iss"] = options_.issuer;
  auto made = base::jose::sign(options_.signer, kStatementType, claims);
  if (subject.empty() || !made) return refused(Code::kPolicy, "lake: the caller's name is none");
  return *std::move(made);
}

std::optional<base::Secret> LakeTokens::recall(const std::string& subject) {
  std::lock_guard lock(mutex_);
  auto found = held_.find(subject);
  if (found == held_.end() || found->second.until <= clock_.now()) return std::nullopt;
  return found->second.value;
}

void LakeTokens::keep(const std::string& subject, Held held) {
  std::lock_guard lock(mutex_);
  if (held_.size() >= kMostHeld) {
    std::erase_if(held_, [&](const auto& one) { return one.second.until <= clock_.now(); });
  }
  if (held_.size() >= kMostHeld) held_.clear();
  held_.insert_or_assign(subject, std::move(held));
}

void LakeTokens::forget(const std::string& subject) {
  std::lock_guard lock(mutex_);
  held_.erase(subject);
  held_.erase(std::string(kOwn));
}

base::Task<LakeAnswer<LakeTokens::Held>> LakeTokens::ask(base::RequestContext context,
                                                         std::string form, bool as_client) {
  base::http::ClientRequest request{.method = base::http::Method::kPost,
                                    .target = "/v1/oauth/tokens"};
  request.headers.add("Content-Type", "application/x-www-form-urlencoded");
  request.headers.add("X-Request-Id", context.id_text());
  if (as_client) {
    request.headers.add(
        "Authorization",
        "Basic " + base::crypto::to_base64(
                       base::percent_encode(options_.client_id, Slash::kEncode) + ':' +
                       base::percent_encode(options_.client_secret.reveal(), Slash::kEncode)));
  }
  request.body = base::http::Body(std::move(form));
  auto& client = clients_.of(co_await boost::asio::this_coro::executor);
  const base::WallTime asked = clock_.now();
  auto response = co_await client.send(context, std::move(request));
  if (!response) co_return error_of(response.error());
  if (response->status == 429 || response->status == 503) co_return error_of(*response);
  if (response->status != 200) {
    const bool is_refusal = response->status == 400 || response->status == 401;
    co_return refused(is_refusal ? Code::kPolicy : Code::kUpstream, "lake: the lake gave no token",
                      base::shorten(response->body.text(), 300));
  }
  auto token = read_token(response->body.text());
  if (!token) co_return no_token(token.error().message());
  co_return Held{std::move(token->first), asked + token->second};
}

base::Task<LakeAnswer<base::Secret>> LakeTokens::own(base::RequestContext context) {
  if (auto known = recall(std::string(kOwn))) co_return *std::move(known);
  auto asked = co_await ask(context, field("grant_type", "client_credentials"), true);
  if (!asked) {
    LakeError error = std::move(asked).error();
    if (error.fault.code == Code::kPolicy) error.fault.code = Code::kUpstream;
    co_return error;
  }
  Held held = *std::move(asked);
  base::Secret value = held.value;
  held.until -= kLeft;
  keep(std::string(kOwn), std::move(held));
  co_return value;
}

base::Task<LakeAnswer<LakeTokens::Held>> LakeTokens::exchange(base::RequestContext context,
                                                              std::string subject) {
  CO_ASSIGN_OR_RETURN(const std::string statement, statement_of(subject));
  CO_ASSIGN_OR_RETURN(const base::Secret actor, co_await own(context));
  const std::string form =
      field("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange") + '&' +
      field("subject_token", statement) + '&' +
      field("subject_token_type", "urn:ietf:params:oauth:token-type:jwt") + '&' +
      field("actor_token", actor.reveal()) + '&' +
      field("actor_token_type", "urn:ietf:params:oauth:token-type:access_token");
  co_return co_await ask(context, form, false);
}

base::Task<LakeAnswer<base::Secret>> LakeTokens::token_for(base::RequestContext context,
                                                           std::string subject) {
  if (auto known = recall(subject)) co_return *std::move(known);
  auto held = co_await exchange(context, subject);
  if (!held && held.error().fault.code == Code::kPolicy) {
    // The service's own token may be one of before the lake's secret was changed.
    forget(subject);
    held = co_await exchange(context, subject);
  }
  if (!held && held.error().fault.code == Code::kPolicy) {
    co_return refused(Code::kPolicy,
                      "lake: the lake gives this service no token for the caller: it is not known "
                      "there, the service may not act for it, or the two have no right in common",
                      std::move(held.error().fault.detail));
  }
  if (!held) co_return std::move(held).error();
  base::Secret value = held->value;
  held->until -= kLeft;
  keep(subject, *std::move(held));
  co_return value;
}

}  // namespace tool::lake
