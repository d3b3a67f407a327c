#pragma once

// Clients, a clock that stands still, and tokens as no server of ours makes them.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "base/crypto/encoding.h"
#include "lakeproxy/auth/access_tokens.h"

namespace lake::auth::testing {

inline constexpr std::int64_t kNow = 1'795'251'600;
inline constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";
inline constexpr const char* kOtherSecret = "fedcba9876543210fedcba9876543210";

class StandingClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override { return now_; }
  void pass(std::chrono::seconds time) { now_ += time; }

 private:
  base::WallTime now_{std::chrono::seconds(kNow)};
};

inline Clients clients_of(std::string_view entries) {
  Clients clients;
  if (!clients.add_entries(entries)) std::abort();
  return clients;
}

inline constexpr const char* kEntries =
    "admin:top|*|auditor, etl:s3cr3t|ns:sales:rw ns:ops:r|loader|acme, ro:look|ns:*:r";

inline TokenOptions options(std::string secret = kSecret, std::string other = {}) {
  return {.issuer = "lakeproxy",
          .secret = base::Secret(std::move(secret)),
          .other_secret = base::Secret(std::move(other))};
}

inline AccessTokens tokens_of(TokenOptions options, const Clients& clients,
                              const base::Clock& clock) {
  static base::SystemRandom random;
  return AccessTokens::create(std::move(options), clients, clock, random).value();
}

/// header "." payload "." signature by the secret, each taken as it is.
inline std::string forge(std::string_view header, std::string_view payload,
                         std::string_view secret = kSecret) {
  std::string token =
      base::crypto::to_base64url(header) + '.' + base::crypto::to_base64url(payload);
  const auto mac = base::crypto::hmac_sha256(secret, token);
  return token + '.' + base::crypto::to_base64url(base::crypto::view(mac));
}

inline constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"at+jwt"})";

/// The claims of a token of the client "etl" that passes; a member replaced by `json`, left out
/// when that is empty, or added.
inline std::string claims(std::string_view member = {}, std::string_view json = {}) {
  std::vector<std::pair<std::string, std::string>> all{{"iss", R"("lakeproxy")"},
                                                       {"aud", R"("lakeproxy")"},
                                                       {"sub", R"("etl")"},
                                                       {"iat", std::to_string(kNow)},
                                                       {"nbf", std::to_string(kNow)},
                                                       {"exp", std::to_string(kNow + 3600)},
                                                       {"jti", R"("1")"},
                                                       {"scope", R"("ns:sales:rw")"},
                                                       {"roles", R"(["loader"])"},
                                                       {"account", R"("acme")"}};
  bool replaced = member.empty();
  for (auto& [name, text] : all) {
    if (name != member) continue;
    text = json;
    replaced = true;
  }
  if (!replaced) all.emplace_back(member, json);
  std::string out;
  for (const auto& [name, text] : all) {
    if (!text.empty()) out += (out.empty() ? "\"" : ",\"") + name + "\":" + text;
  }
  return '{' + out + '}';
}

template <class T>
T wait(base::Task<T> task) {
  boost::asio::io_context loop;
  auto result = boost::asio::co_spawn(loop, std::move(task), boost::asio::use_future);
  loop.run();
  return result.get();
}

}  // namespace lake::auth::testing
