#include "toolserver/session/role_scopes.h"

#include <algorithm>
#include <utility>

#include "base/json/pointer.h"
#include "toolserver/session/credentials.h"

namespace tool::session {
namespace {

namespace json = base::json;

constexpr const char* kNoRoles = "a claim of roles is neither a text nor a list of texts";

Outcome<std::vector<std::string>> roles_at(const json::Value& claims, const std::string& pointer) {
  const json::Value* found = json::find_at(claims, pointer);
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

// Whether a grant lets a tool be called with any arguments.
bool frees(const Grant& grant, const ToolId& tool) {
  return grant.scopes.allows_invoke(tool) && !grant.details.names(tool);
}

// What narrows the sum of grants: of each tool the details of all grants that have
// its scope, unless one of them has it without.
Outcome<Details> any_of(const std::vector<const Grant*>& grants) {
  std::vector<Detail> all;
  for (const Grant* grant : grants) {
    for (const auto& set : grant->details.sets()) {
      for (const Detail& one : *set) {
        if (!grant->scopes.allows_invoke(one.tool)) continue;
        bool is_free = std::ranges::any_of(
            grants, [&](const Grant* other) { return frees(*other, one.tool); });
        if (!is_free) all.push_back(one);
      }
    }
  }
  if (all.size() > Details::kMost) return wrong_credential("roles with too many details");
  return Details::of(std::move(all));
}

}  // namespace

Outcome<Grant> with_roles(const RoleScopes& rules, const json::Object& claims, const Grant& own) {
  if (rules.claims.empty()) return own;
  json::Value all(claims);
  std::vector<std::string> scopes = own.scopes.list();
  const Grant bare{own.scopes};
  std::vector<const Grant*> grants{&bare};
  for (const auto& pointer : rules.claims) {
    auto roles = roles_at(all, pointer);
    if (!roles) return std::move(roles).error();
    for (const auto& role : *roles) {
      auto granted = rules.scopes.find(role);
      if (granted == rules.scopes.end()) continue;
      if (std::ranges::find(grants, &granted->second) != grants.end()) continue;
      grants.push_back(&granted->second);
      for (const auto& scope : granted->second.scopes.list()) {
        if (std::ranges::find(scopes, scope) == scopes.end()) scopes.push_back(scope);
      }
    }
  }
  std::string text;
  for (const auto& scope : scopes) text += (text.empty() ? "" : " ") + scope;
  auto parsed = Scopes::parse(text);
  if (!parsed) return wrong_credential(parsed.error().message());
  auto narrowed = any_of(grants);
  if (!narrowed) return std::move(narrowed).error();
  return Grant{std::move(*parsed), own.details.with(*narrowed)};
}

}  // namespace tool::session
