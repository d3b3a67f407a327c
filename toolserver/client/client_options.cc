#include "toolserver/client/client_options.h"

#include <fmt/format.h>

#include "toolserver/settings/endpoint.h"
#include "toolserver/settings/secret_strength.h"

namespace tool::client {

namespace {

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

}  // namespace tool::client
