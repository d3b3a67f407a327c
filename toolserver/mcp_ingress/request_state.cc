#include "toolserver/mcp_ingress/request_state.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/crypto/encoding.h"
#include "base/crypto/secret_bytes.h"
#include "base/json/json.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;
using base::crypto::Aead;

constexpr std::size_t kNonceBytes = std::tuple_size_v<Aead::Nonce>;
constexpr std::size_t kMostTaken = 65'536;

Aead make_aead(base::Random& random) {
  base::crypto::SecretBytes key(32);
  random.fill(std::as_writable_bytes(key.writable()));
  auto aead = Aead::create(Aead::Algorithm::kAes256Gcm, key.reveal());
  if (!aead) std::abort();  // The key has the right size.
  return std::move(*aead);
}

// With lengths, so that no two owners make one text.
std::string additional_data(const StateOwner& owner) {
  std::string out = "scp mcp request state 1";
  for (const std::string* part : {&owner.principal, &owner.method, &owner.name, &owner.arguments}) {
    out += fmt::format(";{}:{}", part->size(), *part);
  }
  return out;
}

Fault refused() {
  return refuse(Code::kShape,
                "requestState: must be the one that this call was given, in its time");
}

}  // namespace

RequestStates::RequestStates(const base::Clock& clock, base::Random& random)
    : clock_(clock), random_(random), aead_(make_aead(random)) {}

Outcome<std::string> RequestStates::seal(const StateOwner& owner, const CarriedState& state) {
  auto until = (clock_.now() + kLife).time_since_epoch().count();
  std::string text = json::write(json::Object{
      {"until", until}, {"state", state.tool_state}, {"consent", static_cast<int>(state.consent)}});
  if (text.size() > kMostBytes / 2) {
    return refuse(Code::kLimit, "the tool's state is too large for the client to carry");
  }
  Aead::Nonce nonce;
  random_.fill(std::as_writable_bytes(std::span(nonce)));
  std::string sealed(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  std::lock_guard held(mutex_);
  aead_.seal_into(nonce, additional_data(owner), text, sealed);
  return base::crypto::to_base64url(sealed);
}

Outcome<CarriedState> RequestStates::open(const StateOwner& owner, const std::string& sealed) {
  auto bytes = base::crypto::from_base64url(sealed, kMostBytes);
  if (!bytes || bytes->size() < kNonceBytes) return refused();
  Aead::Nonce nonce;
  for (std::size_t i = 0; i < kNonceBytes; ++i) nonce[i] = static_cast<std::uint8_t>((*bytes)[i]);
  base::Result<std::string> text = [&] {
    std::lock_guard held(mutex_);
    return aead_.open(nonce, additional_data(owner), std::string_view(*bytes).substr(kNonceBytes));
  }();
  if (!text) return refused();
  auto value = json::parse(*text);
  if (!value) return refused();
  // It was sealed here, so its members are there.
  const json::Object& fields = value->get_object();
  base::WallTime until{std::chrono::microseconds(fields.at("until").as_int64())};
  CarriedState state{std::string(fields.at("state").as_string()),
                     static_cast<CarriedState::Consent>(fields.at("consent").as_int64())};
  if (until <= clock_.now()) return refused();
  bool once = state.consent != CarriedState::Consent::kNone;
  if (once && !take_once(bytes->substr(0, kNonceBytes), until)) return refused();
  return state;
}

bool RequestStates::take_once(const std::string& nonce, base::WallTime until) {
  std::lock_guard held(mutex_);
  if (taken_.size() >= kMostTaken) {
    base::WallTime now = clock_.now();
    std::erase_if(taken_, [&](const auto& one) { return one.second <= now; });
    // A full memory costs a question more, never an approval that counts twice.
    if (taken_.size() >= kMostTaken) return false;
  }
  return taken_.emplace(nonce, until).second;
}

}  // namespace tool::mcp_ingress
