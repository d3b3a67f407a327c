#pragma once

// Who calls, as established by one of the ways to authenticate. Everything
// after the session stage works on this value alone.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "toolserver/model/details.h"
#include "toolserver/model/tool_id.h"

namespace tool {

enum class Mode : std::uint8_t { kSimple, kBasic, kEncrypted, kEnterprise };
[[nodiscard]] std::string_view name(Mode mode);

enum class Method : std::uint8_t { kApiKey, kJwt, kOauth2, kMtls, kNode, kSession };
[[nodiscard]] std::string_view name(Method method);

/// The scope that a call of `id` needs: "tool:invoke:git.log", "prompt:get:git.commit",
/// "resource:read:git.listed".
[[nodiscard]] std::string invoke_scope(const ToolId& id);

/// What a token lets its bearer do. Unknown scopes grant nothing and are kept
/// as text for the audit. A scope that names a tool grants that tool only.
/// Source: docs/wire-3.0.md, "Scopes".
class Scopes {
 public:
  Scopes() = default;
  /// `text` is a list parted by single spaces, as in RFC 6749, section 3.3.
  /// Errors: kInvalid  a character outside the RFC's set; more than 256 scopes.
  [[nodiscard]] static base::Result<Scopes> parse(std::string_view text);

  [[nodiscard]] bool allows_invoke(const ToolId& tool) const;
  /// Describe comes with invoke; of prompts and resources there is no other.
  [[nodiscard]] bool allows_describe(const ToolId& tool) const;
  /// For scopes without a tool: "cap:list", "admin:audit".
  [[nodiscard]] bool has(std::string_view scope) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::vector<std::string>& list() const { return scopes_; }
  /// Whether every scope here is granted by `wider`.
  [[nodiscard]] bool within(const Scopes& wider) const;

 private:
  [[nodiscard]] bool grants(std::string_view begin, const ToolId& tool) const;
  std::vector<std::string> scopes_;
};

/// What a token is bound to, so that a copy of it is of no use to others.
/// Source: docs/wire-3.0.md, section 6.6; RFC 7800.
struct Binding {
  std::string key;          ///< RFC 7638 thumbprint (`jkt`); or empty.
  std::string certificate;  ///< base64url of the SHA-256 (`x5t#S256`); or empty.
  [[nodiscard]] bool empty() const { return key.empty() && certificate.empty(); }
  friend bool operator==(const Binding&, const Binding&) = default;
};

/// What somebody may do: scopes, and what narrows them.
struct Grant {
  Scopes scopes;
  Details details = {};
};

struct Principal {
  std::string subject;
  std::string issuer;  ///< Who vouches for it: our node or an identity provider.
  Method method = Method::kApiKey;
  Scopes scopes;
  Details details = {};  ///< What narrows the scopes.
  base::WallTime expires_at{};
  std::string token_id;  ///< jti of the token that named it; empty when there was none.
  Binding bound_to;      ///< Of that token; whoever verified it has checked the proof.
};

}  // namespace tool
