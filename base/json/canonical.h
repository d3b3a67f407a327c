#pragma once

// Two parties sign or hash "the same" JSON only when both make the same bytes
// of it. The canonical form is that one text of a value: no white space,
// members in one order, one way to write each number and each string.
// Sources: RFC 8785 (JSON Canonicalization Scheme); RFC 7493 (I-JSON).

#include <string>

#include "base/core/result.h"
#include "base/json/json.h"

namespace base::json {

/// The canonical text of `value`: members sorted by the UTF-16 code units of
/// their names, numbers as ECMAScript prints them, strings with the fewest
/// escapes. An integer and a double of equal value give the same text.
/// Errors: kInvalid  an integer beyond 2^53-1 in size (it would read back as
///         another number elsewhere), a number that is not finite, a string or
///         name that is not well-formed UTF-8.
/// Source: RFC 8785, section 3.2; RFC 7493, section 2.2.
[[nodiscard]] Result<std::string> canonical(const Value& value);
[[nodiscard]] Result<std::string> canonical(const Object& object);

}  // namespace base::json
