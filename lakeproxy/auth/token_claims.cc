#include "lakeproxy/auth/token_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lake::auth {
namespace {

using base::Result;
using base::json::Value;

constexpr std::size_t kMaxTexts = 256;
constexpr std::size_t kMaxText = 1024;

base::Error bad_claim(std::string_view name) {
  return base::fail(base::ErrorKind::kUnauthenticated,
                    fmt::format("the token's claim '{}' is not valid", name))
      .with_reason(base::jose::reason::kClaims);
}

const Value* find(const base::json::Object& object, std::string_view name) {
  const Value* value = object.if_contains({name.data(), name.size()});
  if (value != nullptr) return value->is_null() ? nullptr : value;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const Value* outer = object.if_contains({name.data(), dot});
  if (outer == nullptr || !outer->is_object()) return nullptr;
  return find(outer->get_object(), name.substr(dot + 1));
}

const Value* find(const base::jose::Claims& claims, std::string_view name) {
  return find(claims.all(), name);
}

std::string_view view(const boost::json::string& text) { return {text.data(), text.size()}; }

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

Result<std::vector<std::string>> texts_of(const Value& value, const std::string& name) {
  std::vector<std::string> texts;
  if (value.is_string()) {
    texts = words_of(view(value.get_string()));
  } else if (const auto* array = value.if_array(); array != nullptr && array->size() <= kMaxTexts) {
    for (const Value& one : *array) {
      if (!one.is_string() || one.get_string().empty()) return bad_claim(name);
      texts.emplace_back(view(one.get_string()));
    }
  } else {
    return bad_claim(name);
  }
  const bool too_long =
      std::ranges::any_of(texts, [](const std::string& text) { return text.size() > kMaxText; });
  if (texts.size() > kMaxTexts || too_long) return bad_claim(name);
  return texts;
}

Result<std::optional<std::string>> account_of(const base::jose::Claims& claims,
                                              const std::string& name) {
  const Value* value = find(claims, name);
  if (value == nullptr) return std::optional<std::string>();
  const auto* array = value->if_array();
  // Of several accounts it cannot be told which one is meant.
  if (array != nullptr && array->size() == 1) value = array->data();
  const auto* text = value->if_string();
  if (text == nullptr || text->empty() || text->size() > kMaxText) return bad_claim(name);
  return std::optional<std::string>(view(*text));
}

Result<Scopes> scopes_of(const base::jose::Claims& claims, OtherWords others) {
  std::vector<std::string> words = claims.scope();
  if (const Value* scp = find(claims, "scp"); scp != nullptr && words.empty()) {
    ASSIGN_OR_RETURN(words, texts_of(*scp, "scp"));
  }
  auto scopes = Scopes::parse(words, others);
  if (!scopes) return bad_claim("scope");
  return std::move(*scopes);
}

}  // namespace

std::vector<std::string> names_of(const Principal& principal) {
  std::vector<std::string> names{principal.subject};
  std::string_view rest = principal.actor;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(kActorMark));
    names.emplace_back(name);
    rest.remove_prefix(std::min(rest.size(), name.size() + kActorMark.size()));
  }
  return names;
}

Result<std::vector<std::string>> actors_of(const base::jose::Claims& claims) {
  std::vector<std::string> actors;
  for (const Value* act = find(claims, "act"); act != nullptr;) {
    const base::json::Object* object = act->if_object();
    const Value* name = object != nullptr ? object->if_contains("sub") : nullptr;
    const auto* text = name != nullptr ? name->if_string() : nullptr;
    const bool good = text != nullptr && !text->empty() && text->size() <= kMaxText &&
                      view(*text).find(kActorMark) == std::string_view::npos;
    if (!good || actors.size() == kMostActors) return bad_claim("act");
    actors.emplace_back(view(*text));
    act = object->if_contains("act");
  }
  return actors;
}

Result<Principal> principal_of(const base::jose::Claims& claims, const ClaimNames& names,
                               OtherWords others) {
  if (claims.subject().empty()) return bad_claim("sub");
  Principal principal{.subject = claims.subject(), .issuer = claims.issuer()};
  Grants grants;
  ASSIGN_OR_RETURN(grants.scopes, scopes_of(claims, others));
  if (const Value* roles = find(claims, names.roles)) {
    ASSIGN_OR_RETURN(grants.roles, texts_of(*roles, names.roles));
  }
  ASSIGN_OR_RETURN(principal.account, account_of(claims, names.account));
  ASSIGN_OR_RETURN(const auto actors, actors_of(claims));
  principal.actor = fmt::format("{}", fmt::join(actors, kActorMark));
  principal.superuser = grants.scopes.is_administrator();
  principal.grants = std::make_shared<const Grants>(std::move(grants));
  return principal;
}

}  // namespace lake::auth
