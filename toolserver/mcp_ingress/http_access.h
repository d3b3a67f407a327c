#pragma once

// Who may speak to the endpoint at all: by the names in the request, and by the
// credential that every request brings. The credential is for this service
// alone and goes nowhere else.
// Sources: Model Context Protocol 2026-07-28, "Authorization"; RFC 6750;
// RFC 9728.

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/core/secret.h"
#include "base/http/message.h"
#include "base/runtime/task.h"
#include "base/websocket/accept.h"
#include "toolserver/model/principal.h"
#include "toolserver/transport/credential_check.h"

namespace tool::mcp_ingress {

struct AccessOptions {
  std::string path = "/mcp";
  /// The endpoint as clients know it; names the protected resource.
  std::string resource;
  /// The authorization server whose access tokens are taken; empty: none are.
  std::string issuer;
  std::vector<Method> methods;  ///< Of a bearer: api_key, jwt or oauth2.
  base::ws::AcceptOptions who;  ///< Its origins and its rule for the host.
};

/// 403 for a request by another name of this host, or from a page of another
/// origin; a page of the host that the request names is the same origin.
[[nodiscard]] std::optional<base::http::Response> check_names(const base::http::Headers& headers,
                                                              const AccessOptions& options);

/// "/.well-known/oauth-protected-resource", alone or followed by the path of the
/// endpoint. Source: RFC 9728, section 3.1.
[[nodiscard]] bool is_metadata_path(std::string_view path, const AccessOptions& options);
/// The document; 404 where no access tokens are taken.
[[nodiscard]] base::http::Response metadata_response(const AccessOptions& options);

/// The bearer token. Errors: an answer: 401 without one; 400 where it is malformed
/// or there are several.
[[nodiscard]] std::expected<base::Secret, base::http::Response> bearer_of(
    const base::http::Headers& headers, const AccessOptions& options);

/// Whether the token is of somebody.
/// Errors: those of CredentialCheck::verify().
[[nodiscard]] base::Task<Outcome<Principal>> authenticate(base::RequestContext context,
                                                          transport::CredentialCheck& check,
                                                          std::vector<Method> methods,
                                                          base::Secret token);

/// 401, 403 or 503 with what the client can do about it.
[[nodiscard]] base::http::Response refuse_credential(const Fault& fault,
                                                     const AccessOptions& options);
/// The value of WWW-Authenticate of one whose token is good and not enough.
[[nodiscard]] std::string insufficient_scope(const std::string& scope,
                                             const AccessOptions& options);

/// Plain JSON: {"error": {"status", "message"}}.
[[nodiscard]] base::http::Response plain_error(unsigned status, std::string_view message);

}  // namespace tool::mcp_ingress
