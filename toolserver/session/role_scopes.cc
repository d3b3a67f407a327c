#include "toolserver/session/role_scopes.h"

#include <algorithm>
#include <utility>

#include "toolserver/session/credentials.h"

namespace tool::session {
namespace {

namespace json = base::json;

constexpr const char* kNoRoles = "a claim of roles is neither a text nor a list of texts";

Outcome<std::vector<std::string>> roles_at(const json::Value& claims, const std::string& pointer) {
  boost::system::error_code error;
  const json::Value* found = claims.find_pointer(pointer, error);
  std::vector<std::string> roles;
  if (found == nullptr) return roles;
  if (found->is_string()) {
    roles.emplace_back(found->get_string());
    return roles;
  }
  const json::Array* list = found->if_array();
  if (list == nullptr) return wrong_credential(kNoRoles);
  if (list->size() > RoleScopes::kRoles) return wrong_credential("a token with too many roles");
  for (const json::Value& one : *list) {
    if (!one.is_string()) return wrong_credential(kNoRoles);
    roles.emplace_back(one.get_string());
  }
  return roles;
}

}  // namespace

Outcome<Scopes> with_roles(const RoleScopes& rules, const json::Object& claims, const Scopes& own) {
  if (rules.claims.empty()) return own;
  json::Value all(claims);
  std::vector<std::string> scopes = own.list();
  for (const auto& pointer : rules.claims) {
    auto roles = roles_at(all, pointer);
    if (!roles) return std::move(roles).error();
    for (const auto& role : *roles) {
      auto granted = rules.scopes.find(role);
      if (granted == rules.scopes.end()) continue;
      for (const auto& scope : granted->second.list()) {
        if (std::ranges::find(scopes, scope) == scopes.end()) scopes.push_back(scope);
      }
    }
  }
  std::string text;
  for (const auto& scope : scopes) text += (text.empty() ? "" : " ") + scope;
  auto parsed = Scopes::parse(text);
  if (!parsed) return wrong_credential(parsed.error().message());
  return std::move(*parsed);
}

}  // namespace tool::session
