#include "toolserver/client/client_options.h"

#include "toolserver/settings/endpoint.h"

namespace tool::client {

base::Status check(const ClientOptions& options) {
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
