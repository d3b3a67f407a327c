#pragma once

// What a token allows: "ns:sales:r" reads one namespace, "ns:*:rw" reads and
// changes every one, "*" is the administrator's. A name is compared whole, level
// by level: a scope for "a" says nothing of "ab" or of "a.b".
// Source: specification, section 5.4.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/model/identifier.h"

namespace lake::auth {

/// A capability, as bits: r, w, rw, and "*" for all that there will ever be.
enum class Access : std::uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3, kAll = 7 };

struct Scope {
  std::optional<model::Namespace> name;  ///< Nothing: every namespace.
  Access access = Access::kRead;
  friend bool operator==(const Scope&, const Scope&) = default;
};

/// What stands in a word that is none of these.
enum class OtherWords : std::uint8_t {
  kRefused,
  /// Passed over: they are for other services of the same identity provider.
  kIgnored
};

/// The scopes of a token or of a client. A value.
class Scopes {
 public:
  Scopes() = default;
  /// In a name, levels are parted by '.', and each may be percent-encoded: "%2E" for a dot in a
  /// name. At most 256 words.
  /// Errors: kInvalid  a word that is no scope; names its place, not the word.
  [[nodiscard]] static base::Result<Scopes> parse(std::span<const std::string> words,
                                                  OtherWords others);
  /// Words parted by spaces.
  [[nodiscard]] static base::Result<Scopes> parse(std::string_view text, OtherWords others);
  /// "*".
  [[nodiscard]] static Scopes administrator();

  [[nodiscard]] bool is_administrator() const { return administrator_; }
  [[nodiscard]] bool empty() const { return !administrator_ && scopes_.empty(); }
  /// Whether they allow `wanted`, one capability, in that namespace.
  [[nodiscard]] bool open(const model::Namespace& name, Access wanted) const;
  /// Whether they allow it in every namespace, those to come included.
  [[nodiscard]] bool open_all(Access wanted) const;
  /// Whether the namespace is one that they read, or one that such a one is nested in.
  [[nodiscard]] bool show(const model::Namespace& name) const;

  /// What both allow.
  [[nodiscard]] Scopes both(const Scopes& other) const;
  /// Whether each word of these is allowed by one of `other`.
  [[nodiscard]] bool within(const Scopes& other) const;
  /// The words in one form each, parted by spaces: fit for a token.
  [[nodiscard]] std::string text() const;

 private:
  void add(Scope scope);

  bool administrator_ = false;
  std::vector<Scope> scopes_;  ///< None is allowed by another one.
};

}  // namespace lake::auth
