#pragma once

// The arguments of a policy: "(v VARCHAR)", "(region VARCHAR, amount DECIMAL(18, 2))". Names are
// read here; a type is only cut out, and is the engine's to judge (policy_body.h).
// Source: specification, section 2.4 ("signature").

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace lake::governance {

struct Argument {
  std::string name;  ///< Compared without regard to the case of ASCII letters, as SQL does.
  std::string type;  ///< SQL of DuckDB.
  friend bool operator==(const Argument&, const Argument&) = default;
};

/// A name is letters, digits and '_', not beginning with a digit, or quoted ("a ""b""").
/// Errors: kInvalid  no list in parentheses, no argument or more than 32, a name that is none or
///         comes twice, no type, over 4096 bytes, brackets that do not match.
[[nodiscard]] base::Result<std::vector<Argument>> parse_signature(std::string_view text);

/// Whether SQL takes the names for the same.
[[nodiscard]] bool same_name(std::string_view a, std::string_view b);

}  // namespace lake::governance
