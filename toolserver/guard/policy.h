#pragma once

// What a policy engine is asked and what it may answer. The answer opens doors,
// so it is read strictly: an effect that is not one of five, an obligation that
// is not known, a pointer that is none, each makes the whole answer no answer.
// Sources: docs/tools/guard.md, "What is asked"; Open Policy Agent 1.22, "REST
// API", "Get a Document (with Input)" and "Provenance".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/model/capability.h"
#include "toolserver/model/invocation.h"
#include "toolserver/pipeline/guard.h"

namespace tool::guard {

enum class Phase : std::uint8_t {
  kPre,   ///< Before the tool runs.
  kPost,  ///< On what it gave back.
};

/// {"input": {...}}. Two calls that a policy could tell apart differ in it; what
/// is new with each call (its id, its trace) is left out, so that equal calls
/// have equal questions. `result` is the answer in phase post, else null.
[[nodiscard]] base::json::Object policy_question(Phase phase, const Invocation& call,
                                                 const Capability& capability,
                                                 const ToolResult* result);

enum class Effect : std::uint8_t { kAllow, kDeny, kConsent, kRedact, kQuarantine };
[[nodiscard]] std::string_view name(Effect effect);

struct PolicyAnswer {
  Effect effect = Effect::kDeny;
  std::vector<std::string> reasons;
  pipeline::Redactions redact;
  bool asks_consent = false;  ///< By the effect or by an obligation, as the next.
  bool quarantines = false;
  bool is_kept = true;  ///< Whether it may be remembered for an equal question.
  /// Of the policies that gave it; empty when they do not say.
  std::string revision;
};

inline constexpr std::size_t kReasons = 16;
inline constexpr std::size_t kReasonBytes = 256;
inline constexpr std::size_t kObligations = 64;
inline constexpr std::size_t kPointers = 1'024;
inline constexpr std::size_t kPointerBytes = 1'024;
inline constexpr std::size_t kRevisionBytes = 1'024;

/// The body of an answer of status 200.
/// Errors: kInvalid  there is no `result` (no policy is loaded, or it is
///         undefined for this input), or a member breaks its rule; kTooLarge
///         over one of the bounds above.
[[nodiscard]] base::Result<PolicyAnswer> parse_policy_answer(const base::json::Object& body);

/// Those of `reasons` that are codes (a letter and up to 63 of a-z, 0-9, '_',
/// '.', '-'), joined: all that a caller is told. Sentences are the operator's.
[[nodiscard]] std::string told_reasons(const std::vector<std::string>& reasons);

}  // namespace tool::guard
