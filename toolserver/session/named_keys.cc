#include "toolserver/session/named_keys.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/crypto/encoding.h"
#include "toolserver/session/credentials.h"

namespace tool::session {
namespace {

constexpr std::string_view kPrefix = "scpk_";
constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kSecretText = 43;  // Of 32 bytes in base64url.

bool is_base64url(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

}  // namespace

bool is_key_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytes && name[0] >= 'a' && name[0] <= 'z' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

base::Secret make_named_key(std::string_view name, base::Random& random) {
  std::array<char, 32> bytes;
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return base::Secret(std::string(kPrefix) + std::string(name) + "_" +
                      base::crypto::to_base64url(std::string_view(bytes.data(), bytes.size())));
}

std::string_view name_in_key(std::string_view key) {
  if (!key.starts_with(kPrefix)) return {};
  key.remove_prefix(kPrefix.size());
  std::size_t end = key.find('_');
  if (end == std::string_view::npos || key.size() - end - 1 != kSecretText) return {};
  std::string_view name = key.substr(0, end);
  bool is_secret = std::ranges::all_of(key.substr(end + 1), is_base64url);
  return is_secret && is_key_name(name) ? name : std::string_view();
}

std::string named_key_credential(std::string_view name, const base::crypto::Digest& hash,
                                 const base::crypto::Digest& th1) {
  base::crypto::HmacKey key(base::crypto::view(hash));
  auto mac = key.mac({"scp3 apikey", base::crypto::view(th1)});
  return std::string(name) + "." + base::crypto::to_base64url(base::crypto::view(mac));
}

bool is_of_named_key(std::string_view credential) { return credential.contains('.'); }

Outcome<Principal> verify_named_key(std::string_view credential, const NamedKeys& keys,
                                    const base::crypto::Digest& th1, const std::string& issuer,
                                    base::WallTime now, base::WallTime at_most) {
  std::string_view name = credential.substr(0, credential.find('.'));
  auto found = keys.find(name);
  // One that is not there takes the same time.
  static const NamedKey kNone;
  const NamedKey& key = found == keys.end() ? kNone : found->second;
  bool proved = base::crypto::equal(credential, named_key_credential(name, key.hash, th1));
  if (found == keys.end() || !proved) return wrong_credential("no API key of that name and proof");
  if (key.expires_at <= now) {
    return Fault{Code::kExpired, "the credential is past its time", std::nullopt,
                 "an API key past its end"};
  }
  return Principal{.subject = "key:" + std::string(name),
                   .issuer = issuer,
                   .method = Method::kApiKey,
                   .scopes = key.grant.scopes,
                   .details = key.grant.details,
                   .expires_at = std::min(at_most, key.expires_at)};
}

}  // namespace tool::session
