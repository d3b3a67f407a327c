#pragma once

// A step's arguments are JSON with holes: {"$from": "/steps/read/content/0/text"}
// stands for a value that is known once the step `read` has ended. A hole is
// filled with a whole value, never with a piece of text, so no value can turn
// into an argument that the author did not write.
// Source: RFC 6901 (JSON Pointer); docs/tools/workflows.md.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/model/fault.h"

namespace tool::workflow {

/// Where a value comes from: "/input", or "/steps/<name>", and what is below.
struct Reference {
  std::string pointer;
  std::string step;                ///< Empty: the run's input.
  std::vector<std::string> below;  ///< Tokens after that, without escapes.

  /// Errors: E_SHAPE  no JSON pointer, over 1,024 bytes, or to neither of the two.
  [[nodiscard]] static Outcome<Reference> parse(std::string_view text);
};

/// Whether `value` is {"$from": ...}.
[[nodiscard]] bool is_hole(const base::json::Value& value);

/// A place in `value` that is to be filled: its own JSON pointer there, and the
/// reference. Stops at the first error of `see`.
/// Errors: E_SHAPE  "$from" or "$literal" with other members beside, or no text in
///         "$from"; those of Reference::parse() and of `see`.
using See = std::function<Outcome<void>(const std::string& place, const Reference& from)>;
[[nodiscard]] Outcome<void> each_hole(const base::json::Value& value, const See& see);

/// `value` with its holes filled from `document`; `filled` gets the pointer of each
/// place that was filled from a step. {"$literal": x} becomes x, unread.
/// Errors, whose messages follow the name of `value`: E_SHAPE  a pointer leads to
///         nothing; E_LIMIT  over `bytes` as JSON, or deeper than 60 levels.
[[nodiscard]] Outcome<base::json::Value> fill(const base::json::Value& value,
                                              const base::json::Value& document, std::size_t bytes,
                                              std::vector<std::string>& filled);

}  // namespace tool::workflow
