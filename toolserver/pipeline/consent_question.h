#pragma once

// What a person reads before a call is agreed to. Whoever made the call chose
// the arguments, their order, their length and their characters, to be agreed
// to; so the question shows each argument, in an order that is not the
// caller's, cut by itself, and no character that hides or turns others.
// Source: docs/wire-3.0.md, "Consent".

#include <string>

#include "base/core/clock.h"
#include "toolserver/model/capability.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"
#include "toolserver/pipeline/consent_hook.h"

namespace tool::pipeline {

/// Bytes of one value, or of one name, that are shown; more are counted.
constexpr std::size_t kShownBytes = 200;
/// Of all arguments as they are shown.
constexpr std::size_t kPreviewBytes = 32 << 10;

/// Errors: E_LIMIT  more arguments than can be shown.
[[nodiscard]] Outcome<ConsentQuestion> question_of(const Invocation& call,
                                                   const Capability& capability,
                                                   base::WallTime expires);

/// `text` with controls, blanks that are none of ASCII's, and characters that
/// have no width or change the direction of others as \uXXXX; of `text`, which
/// is UTF-8, as much as is `most` bytes, and then "...(+1,800 bytes)".
[[nodiscard]] std::string shown_text(std::string_view text, std::size_t most);

}  // namespace tool::pipeline
