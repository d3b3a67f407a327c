#include "toolserver/mcp_ingress/http_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json/json.h"
#include "toolserver/session/credentials.h"

namespace tool::mcp_ingress {
namespace {

namespace http = base::http;
namespace json = base::json;

constexpr std::string_view kMetadata = "/.well-known/oauth-protected-resource";
constexpr std::string_view kBearer = "bearer ";
constexpr std::size_t kMostTokenBytes = 8 << 10;

// What the scopes of tools look like; clients learn a tool's own from a refusal.
constexpr std::array kScopes{"cap:list", "mcp:resources", "mcp:prompts"};

std::string resource_metadata(const AccessOptions& options) {
  // In front of the path, as section 3.1 of RFC 9728 has it.
  std::size_t scheme = options.resource.find("://");
  std::size_t path =
      scheme == std::string::npos ? std::string::npos : options.resource.find('/', scheme + 3);
  std::string origin = options.resource.substr(0, path);
  return origin + std::string(kMetadata) + options.path;
}

std::string challenge(const AccessOptions& options, std::string_view error,
                      const std::string& scope = {}) {
  std::string out = "Bearer realm=\"securetool\"";
  if (!error.empty()) out += fmt::format(", error=\"{}\"", error);
  if (!scope.empty()) out += fmt::format(", scope=\"{}\"", scope);
  if (!options.issuer.empty()) {
    out += fmt::format(", resource_metadata=\"{}\"", resource_metadata(options));
  }
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(x) == lower(y);
  });
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  std::size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && !host.empty() &&
         equals_ignoring_case(origin.substr(scheme + 3), host);
}

// Source: RFC 6750, section 2.1.
bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= kMostTokenBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

http::Response plain_error(unsigned status, std::string_view message) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.headers.add("Cache-Control", "no-store");
  response.body =
      http::Body(json::write(json::Object{{"error", {{"status", status}, {"message", message}}}}));
  return response;
}

std::optional<http::Response> check_names(const http::Headers& headers,
                                          const AccessOptions& options) {
  auto host = headers.get("Host").value_or("");
  // Of the same origin only where the host's name is checked as well: else a name
  // that was made to point here would vouch for itself.
  bool checked = options.who.host_check == base::ws::HostCheck::kLoopback;
  http::Headers asked;
  for (const auto& field : headers.fields()) {
    if (checked && field.is("Origin") && is_same_origin(field.value, host)) continue;
    asked.add(field.name, field.value);
  }
  if (!base::ws::check_who_asks(asked, options.who)) return std::nullopt;
  return plain_error(403, "the host or the origin is not allowed");
}

bool is_metadata_path(std::string_view path, const AccessOptions& options) {
  if (!path.starts_with(kMetadata)) return false;
  path.remove_prefix(kMetadata.size());
  return path.empty() || path == options.path;
}

http::Response metadata_response(const AccessOptions& options) {
  if (options.issuer.empty()) return plain_error(404, "no access tokens are taken here");
  json::Array scopes;
  for (const char* one : kScopes) scopes.emplace_back(one);
  http::Response response;
  response.headers.add("Content-Type", "application/json");
  response.headers.add("Cache-Control", "max-age=300");
  response.body = http::Body(
      json::write(json::Object{{"resource", options.resource},
                               {"authorization_servers", json::Array{json::Value(options.issuer)}},
                               {"scopes_supported", std::move(scopes)},
                               {"bearer_methods_supported", json::Array{json::Value("header")}},
                               {"resource_name", "securetool"}}));
  return response;
}

std::expected<base::Secret, http::Response> bearer_of(const http::Headers& headers,
                                                      const AccessOptions& options) {
  std::optional<std::string_view> found;
  for (const auto& field : headers.fields()) {
    if (!field.is("Authorization")) continue;
    if (found) return std::unexpected(plain_error(400, "one Authorization field, please"));
    found = field.value;
  }
  if (!found) {
    auto response = plain_error(401, "a bearer token is missing");
    response.headers.add("WWW-Authenticate", challenge(options, "", ""));
    return std::unexpected(std::move(response));
  }
  bool is_bearer = found->size() > kBearer.size() &&
                   equals_ignoring_case(found->substr(0, kBearer.size()), kBearer);
  std::string_view token = is_bearer ? found->substr(kBearer.size()) : std::string_view();
  if (is_bearer && is_token(token)) return base::Secret(std::string(token));
  auto response = plain_error(400, "Authorization: must be Bearer and a token");
  response.headers.add("WWW-Authenticate", challenge(options, "invalid_request"));
  return std::unexpected(std::move(response));
}

base::Task<Outcome<Principal>> authenticate(base::RequestContext context,
                                            transport::CredentialCheck& check,
                                            std::vector<Method> methods, base::Secret token) {
  Outcome<Principal> last = session::wrong_credential("no method of a bearer is configured");
  bool is_jwt = std::ranges::count(token.reveal(), '.') == 2;
  for (Method method : {Method::kOauth2, Method::kJwt, Method::kApiKey}) {
    if (std::ranges::find(methods, method) == methods.end()) continue;
    if (method != Method::kApiKey && !is_jwt) continue;
    transport::CredentialCheck::Presented presented;
    presented.method = method;
    presented.credential = token;
    // What the native protocol would prove without showing it.
    if (method == Method::kApiKey) {
      presented.credential = base::Secret(session::api_key_credential(token, presented.th1));
    }
    last = co_await check.verify(context, std::move(presented));
    if (last || last.error().code != Code::kAuth) break;
  }
  co_return last;
}

http::Response refuse_credential(const Fault& fault, const AccessOptions& options) {
  if (fault.code != Code::kAuth && fault.code != Code::kExpired) {
    auto response = plain_error(503, "the credential cannot be verified just now");
    response.headers.add("Retry-After", "5");
    return response;
  }
  auto response = plain_error(401, fault.message);
  response.headers.add("WWW-Authenticate", challenge(options, "invalid_token"));
  return response;
}

std::string insufficient_scope(const std::string& scope, const AccessOptions& options) {
  return challenge(options, "insufficient_scope", scope);
}

}  // namespace tool::mcp_ingress
