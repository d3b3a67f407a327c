#pragma once

// Takes out single places of a JSON document, for those who may see the rest.
// Source: RFC 6901 (JSON Pointer).

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/model/invocation.h"

namespace tool::pipeline {

/// What stands in the place of what was taken out.
inline constexpr std::string_view kRedacted = "[redacted]";

/// Puts kRedacted where the pointers lead and says how many places that were.
/// The empty pointer leads to the whole document. One that leads nowhere finds
/// nothing to hide.
[[nodiscard]] std::size_t redact_at(base::json::Value& document,
                                    const std::vector<std::string>& pointers);

/// The same in an answer, seen as {"content": [{"type", "text" or "data"}],
/// "structured": ...}. Content says the same as `structured` in other words:
/// where a pointer names a place in `structured` and none a place in `content`,
/// every part of the content is replaced.
[[nodiscard]] std::size_t redact_at(ToolResult& result, const std::vector<std::string>& pointers);

}  // namespace tool::pipeline
