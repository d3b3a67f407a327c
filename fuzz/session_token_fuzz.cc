// Any claims in a session token that is well signed, and any text as a scope of one that is made:
// a token is followed only with the name of a session and of a key, holds on one connection
// alone, and none passes for a token of a client.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/jose/jwt.h"
#include "base/json/json.h"
#include "toolserver/session/tokens.h"

namespace {

using namespace tool::session;
namespace json = base::json;

constexpr std::chrono::seconds kSecond(1);
const base::WallTime kNow(std::chrono::seconds(1'795'251'600));

const base::jose::Signer& signer() {
  static const auto made =
      *session_token_signer(base::Secret("jH4kLm9pQ2rStUvWx7yZaBcDeFgHiJ0K"), {});
  return made;
}

const SessionTokens& tokens() {
  static const SessionTokens all("node-b", "cluster-1", signer());
  return all;
}

void require(bool holds) {
  if (!holds) std::abort();
}

class CountingRandom final : public base::Random {
 public:
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(next_ = next_ * 167 + 13);
  }

 private:
  unsigned char next_ = 1;
};

// What each token has, so that not every input ends at the first rule.
void check_claims(json::Object claims) {
  const std::int64_t now = base::jose::numeric_date(kNow);
  const json::Object usual{{"iss", "node-b"}, {"aud", "cluster-1"}, {"sub", "ann"},
                           {"iat", now},      {"nbf", now},         {"exp", now + 60},
                           {"jti", "t"},      {"scope", ""},        {"mode", "simple"}};
  for (const auto& [name, value] : usual) claims.emplace(name, value);
  const auto token = base::jose::sign(signer(), "scp-session+jwt", claims);
  if (!token) return;
  if (auto former = tokens().read(*token, kNow)) {
    require(!former->holder.empty() && claims.at("sid").as_string() == former->id);
  }
  // Whoever cannot say of which connection it is has no use of it.
  require(!tokens().verify(*token, tool::Ulid(), {}, kNow) || claims.contains("cnf"));
  static const ClientTokens clients("node-b", "cluster-1", signer().verifier());
  require(!clients.verify(*token, kNow));
}

void check_made(std::string_view text) {
  auto scopes = tool::Scopes::parse(text);
  if (!scopes) return;
  CountingRandom random;
  SessionGrant grant{.subject = std::string(text), .scopes = *scopes};
  grant.session = tool::Ulid::make(kNow, random);
  grant.id = tool::Ulid::make(kNow, random);
  grant.th1.fill(1);
  grant.expires_at = kNow + 60 * kSecond;
  grant.holder = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
  auto token = tokens().mint(grant, kNow, random);
  if (!token || text.empty()) return;
  auto claims = tokens().verify(*token, grant.session, grant.th1, kNow);
  require(claims && claims->scope() == scopes->list());
  require(!tokens().verify(*token, grant.session, {}, kNow));
  require(!tokens().verify(*token, grant.id, grant.th1, kNow));
  require(!tokens().verify(*token, grant.session, grant.th1, grant.expires_at + kSecond));
  auto former = tokens().read(*token, kNow);
  require(former && former->id == grant.session.text() && former->holder == grant.holder &&
          former->token_id == grant.id.text());
  token->back() = token->back() == 'A' ? 'B' : 'A';
  require(!tokens().read(*token, kNow));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  require(!tokens().read(text, kNow));
  check_made(text);
  auto value = json::parse(text, {.bytes = 1 << 14, .depth = 16, .values = 1'000});
  if (value && value->is_object()) check_claims(std::move(value->get_object()));
  return 0;
}
