#include "toolserver/pipeline/webhook.h"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"

namespace tool::pipeline {
namespace {

constexpr std::size_t kMaxDepth = 16;

base::http::ClientOptions client_options(const WebhookOptions& options, std::size_t connections) {
  base::http::ClientOptions out;
  out.header_bytes = 16 * 1024;
  out.connections = connections;
  out.body_bytes = options.answer_bytes;
  out.response_time = options.timeout;
  out.ca_file = options.ca_file;
  return out;
}

bool is_loopback(std::string_view host) {
  return host == "127.0.0.1" || host == "::1" || host == "[::1]" || host == "localhost";
}

}  // namespace

base::http::Headers signature_headers(const base::Secret& secret, std::string_view id,
                                      base::WallTime now, std::string_view body) {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  std::string time = std::to_string(seconds);
  auto mac = base::crypto::hmac_sha256(secret.reveal(), fmt::format("{}.{}.{}", id, time, body));
  base::http::Headers headers;
  headers.add("webhook-id", std::string(id));
  headers.add("webhook-timestamp", time);
  headers.add("webhook-signature", "v1," + base::crypto::to_base64(base::crypto::view(mac)));
  return headers;
}

base::Result<std::unique_ptr<Webhook>> Webhook::create(WebhookOptions options) {
  std::string_view url = options.url;
  std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos ||
      url.find_first_of("#@ \r\n\t\\") != std::string_view::npos) {
    return base::fail(base::ErrorKind::kInvalid, "webhook: not a URL of http or https");
  }
  std::size_t path = url.find('/', scheme + 3);
  ASSIGN_OR_RETURN(auto origin, base::http::Origin::parse(url.substr(0, path)));
  if (!origin.encrypted && !is_loopback(origin.host)) {
    return base::fail(base::ErrorKind::kForbidden, "webhook: plaintext to another host");
  }
  std::string target(path == std::string_view::npos ? "/" : url.substr(path));
  return std::unique_ptr<Webhook>(
      new Webhook(std::move(options), std::move(origin), std::move(target)));
}

Webhook::Webhook(WebhookOptions options, base::http::Origin origin, std::string target)
    : options_(std::move(options)),
      target_(std::move(target)),
      clients_(std::move(origin), client_options(options_, kConnections)) {}

base::Task<base::Result<base::json::Object>> Webhook::post(base::RequestContext context,
                                                           std::string principal,
                                                           base::json::Object body) {
  auto& client = clients_.of(co_await boost::asio::this_coro::executor);
  context.deadline =
      std::min(context.deadline, std::chrono::steady_clock::now() + options_.timeout);
  CO_ASSIGN_OR_RETURN(auto place, co_await places_.enter(std::move(principal), context.deadline));
  base::http::ClientRequest request;
  request.method = base::http::Method::kPost;
  request.target = target_;
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Accept", "application/json");
  const auto* rid = body.if_contains("rid");
  std::string id(rid != nullptr && rid->is_string() ? std::string_view(rid->get_string()) : "");
  std::string text = base::json::write(body);
  if (!options_.bearer.empty()) {
    request.headers.add("Authorization", "Bearer " + std::string(options_.bearer.reveal()));
  }
  if (!options_.signing_secret.empty()) {
    auto signature = signature_headers(options_.signing_secret, id, clock_.now(), text);
    for (const auto& [name, value] : signature.fields()) {
      request.headers.add(name, value);
    }
  }
  request.body = base::http::Body(std::move(text));
  CO_ASSIGN_OR_RETURN(auto response, co_await client.send(context, std::move(request)));
  if (response.status != 200) {
    co_return base::fail(base::ErrorKind::kUnavailable, "webhook: not a status of 200")
        .with_detail(std::to_string(response.status))
        .with_reason("status");
  }
  CO_ASSIGN_OR_RETURN(auto answer,
                      base::json::parse(response.body.view(),
                                        {.bytes = options_.answer_bytes, .depth = kMaxDepth}));
  if (!answer.is_object()) {
    co_return base::fail(base::ErrorKind::kInvalid, "webhook: the answer is not an object");
  }
  co_return std::move(answer.get_object());
}

}  // namespace tool::pipeline
