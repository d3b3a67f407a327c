#include "toolserver/model/principal.h"

#include <algorithm>

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

constexpr std::string_view kDescribe = "tool:describe:";

// How the scopes for calls of a kind begin.
constexpr std::string_view invoke_words(Offer offer) {
  switch (offer) {
    case Offer::kTool: return "tool:invoke:";
    case Offer::kPrompt: return "prompt:get:";
    case Offer::kResource: return "resource:read:";
  }
  return "";
}

// `target` is an id without its kind, or "<namespace>.*".
bool covers(std::string_view target, const ToolId& tool) {
  if (target == tool.plain()) return true;
  return target.ends_with(".*") && target.substr(0, target.size() - 2) == tool.space();
}

bool is_granted(std::string_view scope, const Scopes& wider) {
  if (wider.has(scope)) return true;
  if (scope.starts_with(kDescribe)) {
    std::string_view target = scope.substr(kDescribe.size());
    if (auto id = ToolId::parse(target)) return wider.allows_describe(*id);
    return wider.has("tool:invoke:" + std::string(target));
  }
  for (Offer offer : {Offer::kTool, Offer::kPrompt, Offer::kResource}) {
    std::string_view begin = invoke_words(offer);
    if (!scope.starts_with(begin)) continue;
    std::string kind = offer == Offer::kTool ? "" : std::string(name(offer)) + ":";
    auto id = ToolId::parse_any(kind + std::string(scope.substr(begin.size())));
    return id && id->offer() == offer && wider.allows_invoke(*id);
  }
  return false;
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

std::string invoke_scope(const ToolId& id) {
  return std::string(invoke_words(id.offer())) + std::string(id.plain());
}

bool Scopes::grants(std::string_view begin, const ToolId& tool) const {
  return std::ranges::any_of(scopes_, [&](std::string_view scope) {
    return scope.starts_with(begin) && covers(scope.substr(begin.size()), tool);
  });
}

bool Scopes::allows_invoke(const ToolId& tool) const {
  return grants(invoke_words(tool.offer()), tool);
}

bool Scopes::allows_describe(const ToolId& tool) const {
  return allows_invoke(tool) || (tool.offer() == Offer::kTool && grants(kDescribe, tool));
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
