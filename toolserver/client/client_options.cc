#include "toolserver/client/client_options.h"

#include <fmt/format.h>

#include <fstream>
#include <utility>

#include "toolserver/settings/endpoint.h"
#include "toolserver/settings/secret_strength.h"
#include "toolserver/settings/validate.h"

namespace tool::client {

namespace {

constexpr std::size_t kKeyBytes = 4096;  // Far above a PEM of Ed25519.

struct Held {
  std::string_view setting;
  const base::Secret& value;
  std::size_t min_length;
};

std::string_view rule_of(settings::Weakness weakness) {
  switch (weakness) {
    case settings::Weakness::kPublished: return "must not be a published example";
    case settings::Weakness::kPlaceholder: return "must not be a placeholder";
    case settings::Weakness::kShort: return "is too short";
    default: return "must be random";
  }
}

base::Status check_secrets(const session::Secrets& secrets) {
  for (const Held& held : {Held{"secret_key", secrets.secret_key, 32},
                           {"api_key", secrets.api_key, 24},
                           {"kdf_salt", secrets.kdf_salt, 16},
                           {"secret_key_previous", secrets.secret_key_previous, 32},
                           {"api_key_previous", secrets.api_key_previous, 24}}) {
    if (held.value.empty()) continue;
    auto weakness = settings::weakness_of(held.value.reveal(), held.min_length);
    if (!weakness) continue;
    return base::fail(base::ErrorKind::kInvalid,
                      fmt::format("{}: {}; make one with `securetool keygen secrets`", held.setting,
                                  rule_of(*weakness)));
  }
  return {};
}

}  // namespace

base::Status check(const ClientOptions& options) {
  RETURN_IF_ERROR(check_secrets(options.session.secrets));
  auto endpoint = settings::parse_endpoint(options.url);
  if (!endpoint || (endpoint->scheme != "ws" && endpoint->scheme != "wss")) {
    return base::fail(base::ErrorKind::kInvalid, "server_url: must be a ws:// or wss:// URL");
  }
  if (!settings::is_plaintext(*endpoint)) return {};
  if (!settings::is_loopback(endpoint->host)) {
    return base::fail(base::ErrorKind::kInvalid,
                      "server_url: ws:// is for loopback only; use wss://");
  }
  if (options.plain != PlainTransport::kLoopbackOnly) {
    return base::fail(base::ErrorKind::kInvalid,
                      "server_url: ws:// needs security.allow_insecure_transit");
  }
  if (options.session.mode == Mode::kBasic || options.session.mode == Mode::kEnterprise) {
    return base::fail(base::ErrorKind::kInvalid, "server_url: this mode needs wss://");
  }
  return {};
}

base::Result<base::crypto::SigningKey> read_holder_key(const std::string& file) {
  auto refused = [](std::string_view rule) {
    return base::fail(base::ErrorKind::kInvalid, fmt::format("security.holder_key_path: {}", rule));
  };
  if (auto rule = settings::private_key_rule(file)) return refused(*rule);
  std::ifstream from(file, std::ios::binary);
  std::string pem(kKeyBytes, '\0');
  from.read(pem.data(), static_cast<std::streamsize>(pem.size()));
  pem.resize(static_cast<std::size_t>(from.gcount()));
  auto text = base::crypto::SecretBytes::take(std::move(pem));
  auto key = base::crypto::SigningKey::from_pem(text.reveal());
  if (!key || key->type() != base::crypto::KeyType::kEd25519) {
    return refused("must be an Ed25519 private key in PEM");
  }
  return std::move(*key);
}

}  // namespace tool::client
