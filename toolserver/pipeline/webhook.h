#pragma once

// A hook that lives in another program. Its word opens doors, so nobody may
// stand between: HTTPS with verification, or loopback; no redirects; one small
// JSON answer in time, and anything else is no answer.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/http/client.h"
#include "base/http/loop_clients.h"
#include "base/json/json.h"
#include "base/runtime/fair_places.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace tool::pipeline {

struct WebhookOptions {
  std::string url;
  std::chrono::milliseconds timeout{60'000};
  std::size_t answer_bytes = 64 * 1024;
  std::string ca_file;          ///< PEM; the system's roots when empty.
  base::Secret bearer;          ///< Sent as `Authorization: Bearer`; none when empty.
  base::Secret signing_secret;  ///< Signs each question; nothing is signed when empty.
};

/// The headers that let a hook know who asks, and that nothing was changed:
/// webhook-id, webhook-timestamp (seconds since 1970), webhook-signature
/// ("v1," and the base64 HMAC-SHA-256 of "id.timestamp.body").
/// Source: Standard Webhooks 1.0.0, "Signature scheme"; docs/wire-3.0.md, 14.1.
[[nodiscard]] base::http::Headers signature_headers(const base::Secret& secret, std::string_view id,
                                                    base::WallTime now, std::string_view body);

/// Safe to use from any event loop: each has its own connections, and closes
/// them itself after the webhook is gone. Destroy it before the loops, when
/// nobody waits in post(); the loops may run.
class Webhook {
 public:
  /// Errors: kInvalid  not a URL, or it has user data or a fragment; kForbidden
  /// plaintext to another host than this one.
  [[nodiscard]] static base::Result<std::unique_ptr<Webhook>> create(WebhookOptions options);

  /// Sends `body`, whose `rid` is the signature's id, and returns the object
  /// that a status of 200 came with. No `principal` has more than half of the
  /// connections: its others wait.
  /// Errors: kUnavailable  no connection, nothing was sent, or, with a reason,
  /// another status; kOutcomeUnknown  no
  /// whole answer in time; kTimeout, kTooLarge  see base::http::Client;
  /// kInvalid  not a JSON object.
  [[nodiscard]] base::Task<base::Result<base::json::Object>> post(base::RequestContext context,
                                                                  std::string principal,
                                                                  base::json::Object body);

 private:
  Webhook(WebhookOptions options, base::http::Origin origin, std::string target);
  static constexpr std::size_t kConnections = 32;  // Of all loops together.

  const WebhookOptions options_;
  base::SystemClock clock_;  // The hook compares with its own.
  const std::string target_;
  base::FairPlaces places_{kConnections};
  base::http::LoopClients clients_;
};

}  // namespace tool::pipeline
