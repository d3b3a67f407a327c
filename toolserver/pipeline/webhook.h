#pragma once

// A hook that lives in another program. Its word opens doors, so nobody may
// stand between: HTTPS with verification, or loopback; no redirects; one small
// JSON answer in time, and anything else is no answer.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/core/result.h"
#include "base/http/client.h"
#include "base/json/json.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace tool::pipeline {

struct WebhookOptions {
  std::string url;
  std::chrono::milliseconds timeout{60'000};
  std::size_t answer_bytes = 64 * 1024;
  std::string ca_file;  ///< PEM; the system's roots when empty.
};

/// Safe to use from any event loop: each has its own connections, and closes
/// them itself after the webhook is gone. Destroy it before the loops, when
/// nobody waits in post(); the loops may run.
class Webhook {
 public:
  /// Errors: kInvalid  not a URL, or it has user data or a fragment; kForbidden
  /// plaintext to another host than this one.
  [[nodiscard]] static base::Result<std::unique_ptr<Webhook>> create(WebhookOptions options);

  ~Webhook();
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  /// Sends `body` and returns the object that a status of 200 came with.
  /// Errors: kUnavailable  no connection, or another status; kOutcomeUnknown  no
  /// whole answer in time; kTimeout, kTooLarge  see base::http::Client;
  /// kInvalid  not a JSON object.
  [[nodiscard]] base::Task<base::Result<base::json::Object>> post(base::RequestContext context,
                                                                  base::json::Object body);

 private:
  Webhook(WebhookOptions options, base::http::Origin origin, std::string target)
      : options_(std::move(options)), origin_(std::move(origin)), target_(std::move(target)) {}
  base::http::Client& client_of(const boost::asio::any_io_executor& loop);

  const WebhookOptions options_;
  const base::http::Origin origin_;
  const std::string target_;
  std::mutex mutex_;
  struct LoopClient {
    boost::asio::any_io_executor loop;
    std::unique_ptr<base::http::Client> client;
  };
  std::map<const void*, LoopClient> clients_;  // By event loop.
};

}  // namespace tool::pipeline
