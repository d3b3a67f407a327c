#pragma once

// Names of namespaces and tables. A namespace has levels; the lake's schemas
// are flat, and ducklake/lake/ maps one to the other.

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace lake::model {

/// One or more levels, none empty.
struct Namespace {
  std::vector<std::string> levels;

  /// Levels joined by '.', for messages.
  [[nodiscard]] std::string display() const;
  friend auto operator<=>(const Namespace&, const Namespace&) = default;
};

/// Splits the decoded path parameter at U+001F.
/// Errors: kInvalid  empty level, control character, not UTF-8, over 16 levels
///         or over 255 bytes a level.
[[nodiscard]] base::Result<Namespace> parse_namespace(std::string_view text);
[[nodiscard]] base::Result<Namespace> make_namespace(std::vector<std::string> levels);

struct TableIdentifier {
  Namespace name_space;
  std::string name;

  [[nodiscard]] std::string display() const { return name_space.display() + "." + name; }
  friend auto operator<=>(const TableIdentifier&, const TableIdentifier&) = default;
};

/// Rules for a new table or view name: not empty, at most 255 bytes, UTF-8
/// without control characters, and not reserved.
/// Errors: kInvalid  breaks one of them. Names starting with "__mask_" are
///         reserved (specification, section 2.2).
[[nodiscard]] base::Status validate_new_name(std::string_view name);

}  // namespace lake::model
