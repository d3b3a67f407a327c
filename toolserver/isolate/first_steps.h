#pragma once

// What the two sides of a start say to each other, over a socket that lives no
// longer than that.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace tool::isolate {

/// The first argument of a child; no subcommand begins like it.
inline constexpr std::string_view kChildMark = "--walled";
/// A role of every program: ends at once.
inline constexpr std::string_view kNoRole = "nothing";
inline constexpr int kControl = 3;
inline constexpr int kChannel = 4;
inline constexpr std::size_t kOrderBytes = 1 << 20;
inline constexpr std::size_t kReportBytes = 4096;

/// From run_if_child(): this program is its own child.
void allow_launches();

/// {"missing": [...]} of a child that has begun, {"error": kind, "message": ...,
/// "detail": ...} of one that could not; a line.
[[nodiscard]] std::string report_of(const base::Result<std::vector<std::string>>& begun);
/// Of several lines the last. Errors: the child's own; kUnavailable  it ended before it could tell,
/// or
///         what it told is none of these.
[[nodiscard]] base::Result<std::vector<std::string>> read_report(std::string_view text);

}  // namespace tool::isolate
