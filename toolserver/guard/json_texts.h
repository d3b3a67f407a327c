#pragma once

// Visits every text of a JSON document with the pointer to it.

#include <functional>
#include <string>
#include <string_view>

#include "base/json/json.h"

namespace tool::guard {

/// What a text is in its document. Numbers of twelve digits and more are texts
/// here: an account or a card is written as one.
enum class TextRole : std::uint8_t { kValue, kNumber, kName };

/// `pointer` leads to the value, and for a name to the member that has it.
using VisitText = std::function<base::Status(TextRole role, std::string_view text,
                                             const std::string& pointer, base::json::Value& value)>;

/// Calls `visit` for each text of `document`, which the visitor may replace, as
/// deep as the document is. Ends at the first error and returns it.
[[nodiscard]] base::Status each_text(base::json::Value& document, const VisitText& visit);

}  // namespace tool::guard
