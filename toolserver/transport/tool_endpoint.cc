#include "toolserver/transport/tool_endpoint.h"

#include <fmt/format.h>

#include <utility>

#include "base/core/loopback.h"
#include "base/json/json.h"
#include "toolserver/session/session_state.h"

namespace tool::transport {
namespace {

namespace http = base::http;
namespace json = base::json;

http::Response text_response(unsigned status, std::string_view type, std::string body) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", std::string(type));
  response.headers.add("Cache-Control", "no-store");
  response.body = http::Body(std::move(body));
  return response;
}

http::Response json_response(unsigned status, json::Object body) {
  return text_response(status, "application/json", json::write(std::move(body)));
}

http::Response error_response(unsigned status, std::string_view message) {
  return json_response(status, {{"error", {{"status", status}, {"message", message}}}});
}

// What a client may know before it connects. Source: section 1.5.
json::Object describe(const session::ServerConfig& config, const std::string& path) {
  json::Array versions, suites, methods;
  for (auto version : config.versions) versions.emplace_back(to_string(version));
  for (auto suite : config.suites) suites.emplace_back(session::name(suite));
  for (auto method : config.methods) methods.emplace_back(name(method));
  return {{"versions", std::move(versions)},
          {"suites", std::move(suites)},
          {"mode", name(config.mode)},
          {"methods", std::move(methods)},
          {"path", path}};
}

// As the kernel writes it: an IPv4 peer of an IPv6 socket comes mapped.
bool is_loopback(std::string_view address) {
  return base::is_loopback_address(address) || address.starts_with("::ffff:127.");
}

class Endpoint {
 public:
  Endpoint(const EndpointOptions& options, const SessionServices& services,
           const base::metrics::Registry& metrics, Readiness ready)
      : options_(options),
        services_(services),
        metrics_(metrics),
        ready_(std::move(ready)),
        description_(json::write(describe(services.context->config(), options.path))) {}

  http::Response answer(const http::Request& request) const {
    auto path = request.path();
    if (path == options_.path) return open_session(request);
    if (auto stranger = base::ws::check_who_asks(request.headers, options_.websocket)) {
      return std::move(*stranger);
    }
    if (request.method != http::Method::kGet && request.method != http::Method::kHead) {
      return error_response(405, "only GET is offered here");
    }
    if (path == "/healthz") return text_response(200, "text/plain", "ok\n");
    if (path == "/readyz") {
      return ready_() ? text_response(200, "text/plain", "ready\n")
                      : text_response(503, "text/plain", "not ready\n");
    }
    if (path == "/metrics") return text_response(200, "text/plain; version=0.0.4", metrics_.text());
    if (path == "/.well-known/scp") return text_response(200, "application/json", description_);
    return error_response(404, "no such path");
  }

 private:
  http::Response open_session(const http::Request& request) const {
    return base::ws::accept(request, options_.websocket,
                            [this](std::unique_ptr<base::ws::Connection> connection) {
                              return run(std::move(connection));
                            });
  }

  base::Task<void> run(std::unique_ptr<base::ws::Connection> connection) const {
    auto channel = make_channel(*connection);
    if (!channel) {
      services_.log.error("a TLS connection has no channel binding",
                          {{"detail", channel.error().detail()}});
      connection->close(1011, "");
      co_return;
    }
    co_await run_session(services_, std::move(connection), std::move(*channel));
  }

  base::Result<session::Channel> make_channel(const base::ws::Connection& connection) const {
    session::Channel channel;
    channel.reach =
        is_loopback(connection.peer()) ? session::Reach::kLoopback : session::Reach::kRemote;
    if (!connection.encrypted()) return channel;
    ASSIGN_OR_RETURN(std::string exporter, connection.tls_exporter("EXPORTER-Channel-Binding", 32));
    ASSIGN_OR_RETURN(std::string certificate, connection.server_certificate_hash());
    channel.tls = session::TlsBinding{std::move(exporter), std::move(certificate)};
    return channel;
  }

  const EndpointOptions& options_;
  const SessionServices& services_;
  const base::metrics::Registry& metrics_;
  Readiness ready_;
  std::string description_;
};

base::Task<http::Response> serve(std::shared_ptr<const Endpoint> endpoint, http::Request request) {
  co_return endpoint->answer(request);
}

}  // namespace

base::http::Handler make_handler(const EndpointOptions& options, const SessionServices& services,
                                 const base::metrics::Registry& metrics, Readiness ready,
                                 std::vector<OtherFace> others) {
  auto endpoint = std::make_shared<const Endpoint>(options, services, metrics, std::move(ready));
  return
      [endpoint, others = std::move(others)](base::RequestContext context, http::Request request) {
        for (const OtherFace& other : others) {
          if (other.takes(request.path())) return other.handler(context, std::move(request));
        }
        return serve(endpoint, std::move(request));
      };
}

base::http::Refusal make_refusal() {
  return [](unsigned status, std::string_view message) {
    auto response = error_response(status, message);
    if (status == 503) response.headers.add("Retry-After", "1");
    return response;
  };
}

}  // namespace tool::transport
