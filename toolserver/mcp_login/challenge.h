#pragma once

// What a server says with a 401 or 403: where its metadata is, and which scope
// a request needs. It is a text from outside, read once into a value; one that
// breaks the grammar is no challenge.
// Sources: RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool::login {

/// Words of a scope, in their order, none twice. Source: RFC 6749, section 3.3.
using Scopes = std::vector<std::string>;

inline constexpr std::size_t kMostScopes = 64;
inline constexpr std::size_t kScopeBytes = 256;  ///< Of one word.

/// The words of `text`, which a single space separates; nothing where one has a
/// character that none may have, or there are more or longer ones than allowed.
[[nodiscard]] std::optional<Scopes> read_scopes(std::string_view text);
/// One text again.
[[nodiscard]] std::string write_scopes(const Scopes& scopes);
/// Adds the words of `more` that are not there yet, up to kMostScopes.
void add_scopes(Scopes& to, const Scopes& more);
/// Whether each word of `some` is in `all`.
[[nodiscard]] bool has_scopes(const Scopes& all, const Scopes& some);

struct Challenge {
  std::string resource_metadata;  ///< An address as it was written; empty when absent.
  Scopes scope;                   ///< Empty when absent.
  std::string error;              ///< "insufficient_scope"; empty when absent.
};

/// The first challenge of the scheme Bearer in the value of WWW-Authenticate;
/// several fields are joined with ", ". Nothing where there is none, the
/// text breaks the grammar anywhere, or a parameter comes twice.
[[nodiscard]] std::optional<Challenge> read_challenge(std::string_view value);

}  // namespace tool::login
