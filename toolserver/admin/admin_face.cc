#include "toolserver/admin/admin_face.h"

#include <algorithm>
#include <utility>

#include "base/core/loopback.h"
#include "base/json/json.h"
#include "toolserver/admin/admin_actions.h"

namespace base::embedded {
// By the build: index.html, *.css, *.js, *.svg.
std::span<const Text> admin_pages();
std::span<const Text> admin_styles();
std::span<const Text> admin_scripts();
std::span<const Text> admin_images();
}  // namespace base::embedded

namespace tool::admin {
namespace {

namespace http = base::http;
namespace json = base::json;
using mcp_ingress::AccessOptions;
using mcp_ingress::plain_error;

constexpr std::string_view kApi = "/admin/api/";
constexpr std::string_view kFile = "/admin/";
constexpr std::string_view kPage = "index.html";

// As the kernel writes it: an IPv4 peer of an IPv6 socket comes mapped.
bool is_from_here(std::string_view peer) {
  return base::is_loopback_address(peer) || peer.starts_with("::ffff:127.");
}

// The page itself asks; a browser says so of each request, and other clients nothing.
bool is_from_another_page(const http::Headers& headers) {
  auto site = headers.get("Sec-Fetch-Site");
  return site && *site != "same-origin" && *site != "none";
}

http::Response json_answer(const json::Object& body) {
  http::Response response;
  response.headers.add("Content-Type", "application/json");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.body = http::Body(json::write(json::Value(body)));
  return response;
}

http::Response refusal(const Fault& fault) {
  return plain_error(http_status(fault.code), fault.message);
}

bool is_json(const http::Headers& headers) {
  return headers.get("Content-Type").value_or("") == "application/json";
}

class Endpoint {
 public:
  explicit Endpoint(AdminServices services) : services_(std::move(services)) {
    access_.path = std::string(kPath);
    access_.methods = services_.methods;
    access_.who.host_check = base::ws::HostCheck::kLoopback;
  }

  base::Task<http::Response> answer(base::RequestContext context, http::Request request) const {
    if (!is_from_here(request.peer)) co_return plain_error(404, "no such path");
    if (auto refused = mcp_ingress::check_names(request.headers, access_)) {
      co_return std::move(*refused);
    }
    if (request.path().starts_with(kApi)) co_return co_await api(context, std::move(request));
    co_return file(request);
  }

 private:
  [[nodiscard]] http::Response file(const http::Request& request) const {
    auto path = request.path();
    const auto* found = services_.files->find(path == kPath ? kPage : path.substr(kFile.size()));
    if (found == nullptr) return plain_error(404, "no such path");
    if (request.method != http::Method::kGet && request.method != http::Method::kHead) {
      return plain_error(405, "only GET is offered here");
    }
    return base::pages::answer(request, *found);
  }

  base::Task<http::Response> api(base::RequestContext context, http::Request request) const {
    if (is_from_another_page(request.headers)) {
      co_return plain_error(403, "another page asks");
    }
    auto token = mcp_ingress::bearer_of(request.headers, access_);
    if (!token) co_return std::move(token).error();
    auto principal = co_await mcp_ingress::authenticate(context, services_.credentials(),
                                                        access_.methods, std::move(*token));
    if (!principal) {
      std::string_view code = name(principal.error().code);
      services_.parts->audit.note({"login_refused", code, {}, {}, request.peer},
                                  {{"code", code}, {"peer", request.peer}, {"method", "bearer"}});
      co_return mcp_ingress::refuse_credential(principal.error(), access_);
    }
    auto response = co_await known(std::make_shared<const Principal>(std::move(*principal)),
                                   std::move(request));
    response.vouched = true;
    co_return response;
  }

  base::Task<http::Response> known(std::shared_ptr<const Principal> caller,
                                   http::Request request) const {
    if (auto taken = services_.parts->pipeline.take(*caller); !taken) {
      co_return plain_error(429, taken.error().message);
    }
    auto path = request.path().substr(kApi.size());
    if (path == "self") co_return self(*caller, request);
    auto found = std::ranges::find(actions(), path, &Action::path);
    if (found == actions().end()) co_return plain_error(404, "no such path");
    if (!caller->scopes.has(found->scope)) {
      co_return plain_error(403, "needs the scope " + std::string(found->scope));
    }
    if (found->method != request.method) co_return plain_error(405, "another method is offered");
    Asked asked{services_.parts, std::move(caller), std::move(request), {}};
    if (found->method == http::Method::kPost) {
      if (!is_json(asked.request.headers)) {
        co_return plain_error(415, "Content-Type: must be application/json");
      }
      auto body = json::parse(asked.request.body, {.bytes = kBodyBytes, .depth = 4, .values = 64});
      if (!body || !body->is_object()) co_return plain_error(400, "must be an object of JSON");
      asked.body = std::move(body->get_object());
    }
    auto done = co_await found->run(std::move(asked));
    co_return done ? json_answer(*done) : refusal(done.error());
  }

  // Who the token is of, and what of the page it opens.
  [[nodiscard]] static http::Response self(const Principal& caller, const http::Request& request) {
    if (request.method != http::Method::kGet) return plain_error(405, "only GET is offered here");
    json::Array scopes;
    for (const auto& scope : caller.scopes.list()) {
      if (scope.starts_with("admin:")) scopes.emplace_back(scope);
    }
    if (scopes.empty()) return plain_error(403, "needs a scope of administrators");
    return json_answer({{"sub", caller.subject}, {"scopes", std::move(scopes)}});
  }

  const AdminServices services_;
  AccessOptions access_;
};

base::Task<http::Response> serve(std::shared_ptr<const Endpoint> endpoint,
                                 base::RequestContext context, http::Request request) {
  co_return co_await endpoint->answer(context, std::move(request));
}

}  // namespace

AdminFiles::AdminFiles()
    : PageFiles({.pages = base::embedded::admin_pages(),
                 .styles = base::embedded::admin_styles(),
                 .scripts = base::embedded::admin_scripts(),
                 .images = base::embedded::admin_images()}) {}

bool is_for_admin(std::string_view path) { return path == kPath || path.starts_with(kFile); }

std::size_t body_bytes_of(const http::Request& head) {
  return head.path().starts_with(kApi) && head.headers.get("Authorization") ? kBodyBytes : 0;
}

http::Handler make_admin_endpoint(AdminServices services) {
  auto endpoint = std::make_shared<const Endpoint>(std::move(services));
  return [endpoint](base::RequestContext context, http::Request request) {
    return serve(endpoint, context, std::move(request));
  };
}

}  // namespace tool::admin
