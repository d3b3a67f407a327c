#pragma once

// JSON Pointer: the name of one place in a document, as "/steps/read/content/0".
// Source: RFC 6901.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"

namespace base::json {

/// The tokens of a pointer, with their escapes resolved; none for the empty
/// pointer, which names the whole document. Nothing when `pointer` is none: it
/// does not begin with '/', or a '~' is not followed by 0 or 1.
/// Source: RFC 6901, sections 3 and 4.
[[nodiscard]] std::optional<std::vector<std::string>> pointer_tokens(std::string_view pointer);

/// Whether `text` is a pointer.
[[nodiscard]] bool is_pointer(std::string_view text);

/// Makes `pointer` lead to the member or the element `token` of what it leads to.
void append_token(std::string& pointer, std::string_view token);

/// The element of an array that `token` names: digits without a leading zero.
[[nodiscard]] std::optional<std::size_t> element_of(std::string_view token);

/// The value that `pointer` leads to; null when it leads to nothing or is none.
[[nodiscard]] const Value* find_at(const Value& document, std::string_view pointer);
[[nodiscard]] Value* find_at(Value& document, std::string_view pointer);

}  // namespace base::json
