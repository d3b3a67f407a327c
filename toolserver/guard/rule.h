#pragma once

// What an attack, a secret or a person's data looks like is knowledge that
// changes faster than the service: it stands in files, each rule with texts that
// it must match and texts that it must not, so that a file proves itself when it
// is read.
// Source: docs/tools/guard.md, "Rule files".

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace tool::guard {

enum class Severity : std::uint8_t { kLow, kMedium, kHigh, kCritical };
enum class RuleKind : std::uint8_t { kInjection, kSecret, kPersonalData };
[[nodiscard]] std::string_view name(RuleKind kind);

/// What is done about a match, the mildest first.
enum class RuleAction : std::uint8_t {
  kNote,     ///< The audit says so.
  kRedact,   ///< The text is taken out: of the answer, or of the recorded arguments.
  kConsent,  ///< A person must agree to the call.
  kDeny,     ///< The call or the answer is refused; the tool is quarantined.
};

/// Which texts a rule is about.
struct Where {
  bool arguments = false;
  bool result = false;
  bool description = false;  ///< What a tool says of itself.
};

/// What a match must be beside its form.
enum class RuleCheck : std::uint8_t {
  kNone,
  kLuhn,  ///< Its digits have a valid check digit. Source: ISO/IEC 7812-1, annex B.
  kIban,  ///< It is an IBAN whose check digits hold. Source: ISO 13616-1, section 6.
};
[[nodiscard]] bool passes(RuleCheck check, std::string_view match);

struct Rule {
  std::string id;
  Severity severity = Severity::kMedium;
  RuleKind kind = RuleKind::kInjection;
  Where where;
  std::string pattern;  ///< Of RE2; not compiled yet.
  RuleAction action = RuleAction::kNote;
  RuleCheck check = RuleCheck::kNone;
  std::vector<std::string> matches;  ///< Texts that it must match; at least one.
  std::vector<std::string> misses;   ///< Texts that it must not; at least one.
};

struct RuleFile {
  std::string name;
  std::int64_t version = 0;
  std::vector<Rule> rules;
};

inline constexpr std::size_t kRuleFileBytes = 1 << 20;
inline constexpr std::size_t kRulesOfFile = 1'000;
inline constexpr std::size_t kPatternBytes = 4'096;

/// Reads a rule file (TOML). Strict: an unknown member is an error, so that no
/// rule is milder than its author thinks.
/// Errors: kInvalid  not TOML, or a member breaks its rule; the message names
///         the rule's id and the member; kTooLarge  over one of the bounds above,
///         64 examples of a kind, or 16 KiB an example.
[[nodiscard]] base::Result<RuleFile> parse_rule_file(std::string_view text);

}  // namespace tool::guard
