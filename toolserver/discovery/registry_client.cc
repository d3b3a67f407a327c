#include "toolserver/discovery/registry_client.h"

#include <fmt/format.h>

#include <utility>

#include "toolserver/settings/endpoint.h"

namespace tool::discovery {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kDepth = 16;
constexpr std::size_t kValues = 100'000;

base::http::ClientOptions options_with(std::string ca_file) {
  base::http::ClientOptions out;
  out.connections = 4;
  out.header_bytes = 16 << 10;
  out.body_bytes = RegistryClient::kAnswerBytes;
  // A question may wait for a change for as long as its deadline allows.
  out.response_time = std::chrono::hours(2);
  out.ca_file = std::move(ca_file);
  return out;
}

base::Status check_status(unsigned status) {
  if (status == 200) return {};
  auto error = [&](ErrorKind kind, std::string message) {
    return fail(kind, std::move(message)).with_detail(fmt::format("status {}", status));
  };
  if (status == 401 || status == 403) {
    return error(ErrorKind::kForbidden,
                 "the registry refuses our credential, cluster.discovery_config.token");
  }
  if (status == 404) return error(ErrorKind::kNotFound, "the registry does not know this");
  return error(ErrorKind::kUnavailable, "the registry did not answer");
}

}  // namespace

base::Result<std::shared_ptr<RegistryClient>> RegistryClient::create(std::string url,
                                                                     std::string ca_file) {
  auto endpoint = settings::parse_endpoint(url);
  if (!endpoint || (endpoint->scheme != "http" && endpoint->scheme != "https")) {
    return fail(ErrorKind::kInvalid, "must be an http:// or https:// URL");
  }
  if (endpoint->scheme == "http" && !settings::is_loopback(endpoint->host)) {
    return fail(ErrorKind::kForbidden, "http:// is for this machine only; use https://");
  }
  ASSIGN_OR_RETURN(auto origin,
                   base::http::Origin::parse(url.substr(0, url.size() - endpoint->path.size())));
  std::string path = endpoint->path;
  while (path.ends_with('/')) path.pop_back();
  return std::shared_ptr<RegistryClient>(
      new RegistryClient(std::move(origin), std::move(path), std::move(ca_file)));
}

RegistryClient::RegistryClient(base::http::Origin origin, std::string path, std::string ca_file)
    : origin_(std::move(origin)),
      path_(std::move(path)),
      options_(options_with(std::move(ca_file))),
      client_(base::http::Client::create(origin_, options_)),
      stream_client_(base::http::StreamClient::create(origin_, options_)) {}

base::http::ClientRequest RegistryClient::request(Call call) const {
  base::http::ClientRequest out;
  out.method = call.method;
  out.target = path_ + call.target;
  out.headers = std::move(call.headers);
  out.headers.add("Accept", "application/json");
  if (call.method != base::http::Method::kGet) {
    out.headers.add("Content-Type", "application/json");
    out.body = base::http::Body(base::json::write(call.body));
  }
  return out;
}

base::Task<base::Result<RegistryClient::Answer>> RegistryClient::send(base::RequestContext context,
                                                                      Call call) {
  CO_ASSIGN_OR_RETURN(auto response, co_await client_->send(context, request(std::move(call))));
  CO_RETURN_IF_ERROR(check_status(response.status));
  Answer out{.headers = std::move(response.headers), .body = nullptr};
  if (response.body.size() == 0) co_return out;
  CO_ASSIGN_OR_RETURN(
      out.body, base::json::parse(response.body.view(),
                                  {.bytes = kAnswerBytes, .depth = kDepth, .values = kValues}));
  co_return out;
}

base::Task<base::Result<base::http::BodyStream>> RegistryClient::follow(
    base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto response,
                      co_await stream_client_->send(context, request(std::move(call)), {}));
  CO_RETURN_IF_ERROR(check_status(response.head.status));
  if (!response.body.source) co_return fail(ErrorKind::kInvalid, "the registry's answer is empty");
  co_return std::move(response.body);
}

}  // namespace tool::discovery
