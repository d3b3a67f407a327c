#include "lakeproxy/gateway/keys.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "base/crypto/encoding.h"
#include "base/crypto/hkdf.h"
#include "base/json/fields.h"
#include "lakeproxy/gateway/s3_error.h"

namespace lake::gateway {
namespace {

using base::Result;
using base::crypto::Aead;

constexpr std::size_t kLeastSecret = 32;
constexpr std::size_t kMostToken = 8192;
constexpr std::string_view kIdStart = "LKGW";  // Not one of AWS's own, AKIA and ASIA.
constexpr std::string_view kVersion = "\x01";
constexpr std::size_t kNonceBytes = std::tuple_size_v<Aead::Nonce>;

// Its id is that of one token alone, so the two cannot be mixed.
std::string id_of(std::string_view token) {
  const auto digest = base::crypto::sha256(token);
  std::string hex = base::crypto::to_hex(base::crypto::view(digest)).substr(0, 16);
  std::ranges::transform(hex, hex.begin(), [](char c) { return c >= 'a' ? char(c - 32) : c; });
  return std::string(kIdStart) + hex;
}

std::int64_t seconds_of(base::WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

base::json::Array array_of(const std::vector<std::string>& texts) {
  base::json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::string to_text(const Grant& grant) {
  const auth::Principal& who = grant.principal;
  base::json::Object out{{"sub", who.subject},
                         {"iss", who.issuer},
                         {"cat", grant.catalog},
                         {"ns", array_of(grant.table.name_space.levels)},
                         {"tbl", grant.table.name},
                         {"loc", grant.location},
                         {"rw", grant.access == delegation::KeyAccess::kReadWrite},
                         {"exp", seconds_of(grant.expires)}};
  if (grant.staged) out["new"] = true;
  if (!who.actor.empty()) out["act"] = who.actor;
  if (who.superuser) out["su"] = true;
  if (who.account) out["acc"] = *who.account;
  if (who.grants) {
    out["scp"] = who.grants->scopes.text();
    out["rol"] = array_of(who.grants->roles);
  }
  return base::json::write(out);
}

Result<Grant> read_grant(std::string_view text) {
  ASSIGN_OR_RETURN(const auto value, base::json::parse(text));
  ASSIGN_OR_RETURN(const auto fields, base::json::Fields::of(value, ""));
  Grant grant;
  auth::Principal& who = grant.principal;
  ASSIGN_OR_RETURN(who.subject, fields.string("sub"));
  ASSIGN_OR_RETURN(who.issuer, fields.string("iss"));
  ASSIGN_OR_RETURN(who.account, fields.opt_string("acc"));
  ASSIGN_OR_RETURN(auto actor, fields.opt_string("act"));
  who.actor = std::move(actor).value_or("");
  ASSIGN_OR_RETURN(const auto superuser, fields.opt_boolean("su"));
  who.superuser = superuser.value_or(false);
  ASSIGN_OR_RETURN(const auto scopes, fields.opt_string("scp"));
  if (scopes) {
    auto grants = std::make_shared<auth::Grants>();
    ASSIGN_OR_RETURN(grants->scopes, auth::Scopes::parse(*scopes, auth::OtherWords::kRefused));
    ASSIGN_OR_RETURN(grants->roles, fields.strings("rol"));
    who.grants = std::move(grants);
  }
  ASSIGN_OR_RETURN(grant.catalog, fields.string("cat"));
  ASSIGN_OR_RETURN(auto levels, fields.strings("ns"));
  grant.table.name_space.levels = std::move(levels);
  ASSIGN_OR_RETURN(grant.table.name, fields.string("tbl"));
  ASSIGN_OR_RETURN(grant.location, fields.string("loc"));
  ASSIGN_OR_RETURN(const auto staged, fields.opt_boolean("new"));
  grant.staged = staged.value_or(false);
  ASSIGN_OR_RETURN(const bool writes, fields.boolean("rw"));
  if (writes) grant.access = delegation::KeyAccess::kReadWrite;
  ASSIGN_OR_RETURN(const std::int64_t expires, fields.int64("exp"));
  grant.expires = base::WallTime(std::chrono::seconds(expires));
  return grant;
}

}  // namespace

// One key to seal and one to derive, so that neither says anything of the other, or of the tokens
// that are signed with the same secret.
Result<Keys::Secrets> Keys::secrets_of(const base::Secret& secret) {
  if (secret.reveal().size() < kLeastSecret) {
    return base::fail(base::ErrorKind::kInvalid, "the gateway's secret needs 32 bytes");
  }
  auto root = base::crypto::hkdf_extract("lakeproxy s3 gateway", secret.reveal());
  auto sealing = base::crypto::hkdf_expand(root.reveal(), "session token", Aead::kKeyBytes);
  auto deriving = base::crypto::hkdf_expand(root.reveal(), "secret access key", 32);
  ASSIGN_OR_RETURN(Aead aead, Aead::create(Aead::Algorithm::kAes256Gcm, sealing.reveal()));
  return Secrets{std::move(aead), base::crypto::HmacKey(deriving.reveal())};
}

Result<Keys> Keys::create(const base::Secret& secret, const base::Secret& other,
                          base::Random& random) {
  ASSIGN_OR_RETURN(Secrets current, secrets_of(secret));
  std::optional<Secrets> second;
  if (!other.empty()) {
    ASSIGN_OR_RETURN(second, secrets_of(other));
  }
  return Keys(std::move(current), std::move(second), random);
}

base::Secret Keys::secret_key(const Secrets& secrets, std::string_view token) {
  const auto digest = secrets.deriving.mac(token);
  return base::Secret(base::crypto::to_base64url(base::crypto::view(digest)));
}

Result<Key> Keys::mint(const Grant& grant) {
  Aead::Nonce nonce;
  random_->fill(std::as_writable_bytes(std::span(nonce)));
  std::string bytes(kVersion);
  bytes.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  bytes += current_.sealing.seal(nonce, kVersion, to_text(grant));
  std::string token = base::crypto::to_base64url(bytes);
  if (token.size() > kMostToken) {
    return base::fail(base::ErrorKind::kTooLarge, "the scope is too long for a key");
  }
  return Key{.access_key_id = id_of(token),
             .secret_access_key = secret_key(current_, token),
             .session_token = base::Secret(token),
             .expires = grant.expires};
}

Result<OpenedKey> Keys::open(std::string_view access_key_id, std::string_view session_token,
                             base::WallTime now) {
  if (!access_key_id.starts_with(kIdStart)) return refuse(s3::kUnknownKey);
  auto bytes = base::crypto::from_base64url(session_token, kMostToken);
  const std::size_t head = kVersion.size() + kNonceBytes;
  if (!bytes || bytes->size() < head || !bytes->starts_with(kVersion)) {
    return refuse(s3::kBadToken, "form");
  }
  if (id_of(session_token) != access_key_id) return refuse(s3::kBadToken, "of another key id");
  Aead::Nonce nonce;
  std::copy_n(bytes->begin() + static_cast<std::ptrdiff_t>(kVersion.size()), kNonceBytes,
              nonce.begin());
  const std::string_view sealed = std::string_view(*bytes).substr(head);
  Secrets* secrets = &current_;
  auto text = current_.sealing.open(nonce, kVersion, sealed);
  if (!text && other_) {
    secrets = &*other_;
    text = other_->sealing.open(nonce, kVersion, sealed);
  }
  if (!text) return refuse(s3::kBadToken, "not sealed by this server");
  auto grant = read_grant(*text);
  if (!grant) return refuse(s3::kBadToken, grant.error().message());
  if (now >= grant->expires) return refuse(s3::kExpired);
  return OpenedKey{std::move(*grant), secret_key(*secrets, session_token)};
}

}  // namespace lake::gateway
