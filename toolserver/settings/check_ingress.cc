#include <algorithm>
#include <array>
#include <utility>

#include "toolserver/settings/endpoint.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

constexpr std::array<std::string_view, 4> kTaken{"/healthz", "/readyz", "/metrics",
                                                 "/.well-known/scp"};

void check_resource(Findings& out, const std::string& resource) {
  if (resource.empty()) return;
  auto endpoint = parse_endpoint(resource);
  bool is_web = endpoint && (endpoint->scheme == "https" || endpoint->scheme == "http");
  if (!is_web) {
    out.push_back({"mcp.resource", "must be https://host/path, with no user and no query"});
  } else if (endpoint->scheme == "http" && !is_loopback(endpoint->host)) {
    out.push_back({"mcp.resource", "must be https://: plaintext goes to this machine only"});
  }
}

void check_admin(Findings& out, const SecureConfig& config) {
  const AdminPage& admin = config.admin;
  if (admin.consent && !admin.enabled) {
    out.push_back({"admin.consent", "needs admin.enabled: nobody could answer"});
  }
  if (admin.consent && !config.hooks.consent_url.empty()) {
    out.push_back({"admin.consent", "must be off with hooks.consent_url: one of them is asked"});
  }
  if (!admin.enabled) return;
  if (config.security.require_bound_tokens) {
    out.push_back(
        {"admin.enabled", "must be off with security.require_bound_tokens: a page proves no key"});
  }
  for (const auto& [setting, path] :
       {std::pair{"server.path", &config.server.path}, {"mcp.path", &config.mcp.path}}) {
    if (*path == "/admin" || path->starts_with("/admin/")) {
      out.push_back({setting, "must be another path than that of the page /admin"});
    }
  }
}

}  // namespace

Findings check_ingress(const SecureConfig& config, Role role) {
  Findings out;
  if (role == Role::kServer) check_admin(out, config);
  const McpIngress& mcp = config.mcp;
  if (role == Role::kClient || !mcp.enabled) return out;
  // What that mode promises of each message, MCP has no place for.
  if (config.core.mode == Mode::kEncrypted) {
    out.push_back({"mcp.enabled", "must be off in mode encrypted: MCP has no encrypted messages"});
  }
  if (config.security.require_bound_tokens) {
    out.push_back({"mcp.enabled",
                   "must be off with security.require_bound_tokens: MCP clients prove no key"});
  }
  bool is_taken = mcp.path == config.server.path ||
                  std::ranges::find(kTaken, mcp.path) != kTaken.end() ||
                  mcp.path.starts_with("/.well-known/oauth-protected-resource");
  if (mcp.path.empty() || is_taken) {
    out.push_back({"mcp.path", "must be a path that the service has no other use for"});
  }
  check_resource(out, mcp.resource);
  return out;
}

}  // namespace tool::settings
