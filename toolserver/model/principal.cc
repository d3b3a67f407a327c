#include "toolserver/model/principal.h"

#include <algorithm>
#include <optional>

namespace tool {
namespace {

constexpr std::size_t kMaxScopes = 256;

// Source: RFC 6749, section 3.3, scope-token.
bool is_scope_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    auto b = static_cast<unsigned char>(c);
    return b == 0x21 || (b >= 0x23 && b <= 0x5B) || (b >= 0x5D && b <= 0x7E);
  });
}

// "tool:<verb>:<target>" taken apart; nothing for any other scope.
struct ToolScope {
  std::string_view verb;
  std::string_view target;  // An id, or "<namespace>.*".
};

std::optional<ToolScope> tool_scope(std::string_view scope) {
  constexpr std::string_view kPrefix = "tool:";
  if (!scope.starts_with(kPrefix)) return std::nullopt;
  scope.remove_prefix(kPrefix.size());
  std::size_t colon = scope.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return ToolScope{scope.substr(0, colon), scope.substr(colon + 1)};
}

bool covers(std::string_view target, const ToolId& tool) {
  if (target == tool.text()) return true;
  return target.ends_with(".*") && target.substr(0, target.size() - 2) == tool.space();
}

bool is_granted(std::string_view scope, const Scopes& wider) {
  if (wider.has(scope)) return true;
  auto parts = tool_scope(scope);
  if (!parts || (parts->verb != "invoke" && parts->verb != "describe")) return false;
  if (auto id = ToolId::parse(parts->target)) {
    return parts->verb == "invoke" ? wider.allows_invoke(*id) : wider.allows_describe(*id);
  }
  return parts->verb == "describe" && wider.has("tool:invoke:" + std::string(parts->target));
}

}  // namespace

std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::kSimple: return "simple";
    case Mode::kBasic: return "basic";
    case Mode::kEncrypted: return "encrypted";
    case Mode::kEnterprise: return "enterprise";
  }
  return "";
}

std::string_view name(Method method) {
  switch (method) {
    case Method::kApiKey: return "api_key";
    case Method::kJwt: return "jwt";
    case Method::kOauth2: return "oauth2";
    case Method::kMtls: return "mtls";
    case Method::kNode: return "node";
    case Method::kSession: return "session";
  }
  return "";
}

base::Result<Scopes> Scopes::parse(std::string_view text) {
  Scopes scopes;
  if (text.empty()) return scopes;
  while (true) {
    std::size_t space = text.find(' ');
    std::string_view token = text.substr(0, space);
    if (!is_scope_token(token)) {
      return base::fail(base::ErrorKind::kInvalid,
                        "scope: must be a list of scopes parted by single spaces");
    }
    if (scopes.scopes_.size() == kMaxScopes) {
      return base::fail(base::ErrorKind::kInvalid, "scope: more than 256 scopes");
    }
    scopes.scopes_.emplace_back(token);
    if (space == std::string_view::npos) return scopes;
    text.remove_prefix(space + 1);
  }
}

bool Scopes::grants(std::string_view verb, const ToolId& tool) const {
  return std::ranges::any_of(scopes_, [&](const std::string& scope) {
    auto parts = tool_scope(scope);
    return parts && parts->verb == verb && covers(parts->target, tool);
  });
}

bool Scopes::allows_invoke(const ToolId& tool) const { return grants("invoke", tool); }

bool Scopes::allows_describe(const ToolId& tool) const {
  return grants("describe", tool) || grants("invoke", tool);
}

bool Scopes::has(std::string_view scope) const {
  return std::ranges::find(scopes_, scope) != scopes_.end();
}

std::string Scopes::text() const {
  std::string out;
  for (const auto& scope : scopes_) {
    if (!out.empty()) out += ' ';
    out += scope;
  }
  return out;
}

bool Scopes::within(const Scopes& wider) const {
  return std::ranges::all_of(scopes_,
                             [&](const std::string& scope) { return is_granted(scope, wider); });
}

}  // namespace tool
