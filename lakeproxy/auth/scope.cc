#include "lakeproxy/auth/scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "lakeproxy/auth/readable_namespaces.h"

namespace lake::auth {
namespace {

using base::ErrorKind;

constexpr std::string_view kKind = "ns:";
constexpr std::string_view kEvery = "*";
constexpr std::size_t kMaxWords = 256;

std::uint8_t bits(Access access) { return static_cast<std::uint8_t>(access); }

bool has(Access held, Access wanted) { return (bits(held) & bits(wanted)) == bits(wanted); }

std::optional<Access> access_of(std::string_view text) {
  if (text == "r") return Access::kRead;
  if (text == "w") return Access::kWrite;
  if (text == "rw") return Access::kReadWrite;
  if (text == kEvery) return Access::kAll;
  return std::nullopt;
}

std::string_view text_of(Access access) {
  switch (access) {
    case Access::kRead: return "r";
    case Access::kWrite: return "w";
    case Access::kReadWrite: return "rw";
    case Access::kAll: return kEvery;
  }
  return "";
}

// A '*' in a name would be read as a pattern by people, and is none: "%2A" is the letter.
std::optional<model::Namespace> name_of(std::string_view text) {
  std::vector<std::string> levels;
  while (true) {
    const std::string_view level = text.substr(0, text.find('.'));
    if (level.contains('*')) return std::nullopt;
    auto decoded = base::percent_decode(level);
    if (!decoded) return std::nullopt;
    levels.push_back(std::move(*decoded));
    if (level.size() == text.size()) break;
    text.remove_prefix(level.size() + 1);
  }
  auto name = model::make_namespace(std::move(levels));
  if (!name) return std::nullopt;
  return std::move(*name);
}

std::optional<Scope> scope_of(std::string_view word) {
  if (!word.starts_with(kKind)) return std::nullopt;
  word.remove_prefix(kKind.size());
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto access = access_of(word.substr(colon + 1));
  if (!access) return std::nullopt;
  const std::string_view name = word.substr(0, colon);
  if (name == kEvery) return Scope{std::nullopt, *access};
  auto parsed = name_of(name);
  if (!parsed) return std::nullopt;
  return Scope{std::move(parsed), *access};
}

std::string text_of(const model::Namespace& name) {
  std::string text;
  for (const std::string& level : name.levels) {
    if (!text.empty()) text += '.';
    for (char c : base::percent_encode(level, base::Slash::kEncode)) {
      c == '.' ? text += "%2E" : text += c;
    }
  }
  return text;
}

// Whether every right of `narrow` is one of `wide`.
bool allows(const Scope& wide, const Scope& narrow) {
  return has(wide.access, narrow.access) && (!wide.name || wide.name == narrow.name);
}

bool is_nested_in(const model::Namespace& inner, const model::Namespace& outer) {
  return inner.levels.size() > outer.levels.size() &&
         std::equal(outer.levels.begin(), outer.levels.end(), inner.levels.begin());
}

std::optional<Scope> both_of(const Scope& a, const Scope& b) {
  if (a.name && b.name && a.name != b.name) return std::nullopt;
  const int shared = bits(a.access) & bits(b.access);
  if (shared == 0) return std::nullopt;
  return Scope{a.name ? a.name : b.name, static_cast<Access>(shared)};
}

}  // namespace

base::Result<Scopes> Scopes::parse(std::span<const std::string> words, OtherWords others) {
  if (words.size() > kMaxWords) {
    return base::fail(ErrorKind::kInvalid, fmt::format("scope: has over {} words", kMaxWords));
  }
  Scopes scopes;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kEvery) {
      scopes.administrator_ = true;
    } else if (auto scope = scope_of(words[i])) {
      scopes.add(std::move(*scope));
    } else if (others == OtherWords::kRefused) {
      return base::fail(
          ErrorKind::kInvalid,
          fmt::format("scope: word {} must be * or ns:<name>:<r, w, rw or *>", i + 1));
    }
  }
  return scopes;
}

base::Result<Scopes> Scopes::parse(std::string_view text, OtherWords others) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!word.empty()) words.emplace_back(word);
    if (words.size() > kMaxWords) break;
  }
  return parse(words, others);
}

Scopes Scopes::administrator() {
  Scopes scopes;
  scopes.administrator_ = true;
  return scopes;
}

void Scopes::add(Scope scope) {
  if (std::ranges::any_of(scopes_, [&](const Scope& held) { return allows(held, scope); })) return;
  std::erase_if(scopes_, [&](const Scope& held) { return allows(scope, held); });
  scopes_.push_back(std::move(scope));
}

bool Scopes::open(const model::Namespace& name, Access wanted) const {
  return administrator_ || std::ranges::any_of(scopes_, [&](const Scope& scope) {
           return has(scope.access, wanted) && (!scope.name || *scope.name == name);
         });
}

bool Scopes::open_all(Access wanted) const {
  return administrator_ || std::ranges::any_of(scopes_, [&](const Scope& scope) {
           return has(scope.access, wanted) && !scope.name;
         });
}

bool Scopes::show(const model::Namespace& name) const {
  return open(name, Access::kRead) || std::ranges::any_of(scopes_, [&](const Scope& scope) {
           return has(scope.access, Access::kRead) && scope.name && is_nested_in(*scope.name, name);
         });
}

Scopes Scopes::both(const Scopes& other) const {
  if (administrator_) return other;
  if (other.administrator_) return *this;
  Scopes shared;
  for (const Scope& a : scopes_) {
    for (const Scope& b : other.scopes_) {
      if (auto scope = both_of(a, b)) shared.add(std::move(*scope));
    }
  }
  return shared;
}

bool Scopes::within(const Scopes& other) const {
  if (other.administrator_) return true;
  return !administrator_ && std::ranges::all_of(scopes_, [&](const Scope& scope) {
    return std::ranges::any_of(other.scopes_,
                               [&](const Scope& wide) { return allows(wide, scope); });
  });
}

std::string Scopes::text() const {
  if (administrator_) return std::string(kEvery);
  std::string text;
  for (const Scope& scope : scopes_) {
    if (!text.empty()) text += ' ';
    text += kKind;
    text += scope.name ? text_of(*scope.name) : std::string(kEvery);
    text += ':';
    text += text_of(scope.access);
  }
  return text;
}

std::optional<std::vector<model::Namespace>> readable_namespaces(const Scopes& scopes) {
  if (scopes.open_all(Access::kRead)) return std::nullopt;
  std::vector<model::Namespace> names;
  const std::string text = scopes.text();
  std::string_view words = text;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    auto scope = scope_of(word);
    if (scope && scope->name && has(scope->access, Access::kRead)) {
      names.push_back(std::move(*scope->name));
    }
  }
  return names;
}

}  // namespace lake::auth
