#pragma once

// JSON can write the character U+0000 in a text ("\u0000"); PostgreSQL holds it
// in none, and a JSON column that took it cannot be read any more.

#include <string_view>

namespace base::json {

/// Whether a key or text of the JSON text `json` has the escape of U+0000. It
/// stands nowhere else in JSON that parse() takes.
[[nodiscard]] bool has_zero_escape(std::string_view json);

}  // namespace base::json
