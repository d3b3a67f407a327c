#pragma once

// All rules at once: one automaton says in one pass over a text which of them
// match it. Its time grows with the text alone, whatever the patterns, so no
// text and no pattern can make it slow.
// Source: RE2 (Cox, "Regular Expression Matching in the Wild"), RE2::Set.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "toolserver/guard/rule.h"

namespace tool::guard {

/// What one call may cost. Of all its texts together.
struct ScanLimits {
  std::size_t bytes = 4 << 20;
  std::chrono::milliseconds time{250};
};

/// What is left of the limits; of one scan.
class ScanBudget {
 public:
  explicit ScanBudget(const ScanLimits& limits)
      : bytes_(limits.bytes), end_(std::chrono::steady_clock::now() + limits.time) {}

  /// Errors: kTooLarge  more text than is read through; kTimeout  the time is
  /// over.
  [[nodiscard]] base::Status take(std::size_t bytes);
  [[nodiscard]] base::Status check_time() const;

 private:
  std::size_t bytes_;
  std::chrono::steady_clock::time_point end_;
};

enum class Place : std::uint8_t { kArguments, kResult, kDescription };

/// Immutable; safe to use from any thread.
class RuleSet {
 public:
  /// Errors: kInvalid  a pattern that RE2 refuses or that matches the empty
  ///         text, or an id that is there twice, with the rule's id;
  ///         kTooLarge  together they need more than 256 MiB.
  [[nodiscard]] static base::Result<std::shared_ptr<const RuleSet>> compile(
      std::vector<Rule> rules);
  ~RuleSet();
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  [[nodiscard]] const std::vector<Rule>& rules() const;

  /// The places in rules() of those that are about `place` and match `text`: as
  /// it is, folded, or said in base64 by it (folding.h). Sorted.
  /// Errors: as ScanBudget; kInternal  the automaton ran out of memory.
  [[nodiscard]] base::Result<std::vector<std::size_t>> scan(std::string_view text, Place place,
                                                            ScanBudget& budget) const;

  struct Redacted {
    std::string text;
    std::size_t count = 0;
  };
  /// `text` with what `rules` (sorted) match replaced by pipeline::kRedacted.
  /// Errors: as scan(); kInvalid  something still matches afterwards.
  [[nodiscard]] base::Result<Redacted> redact(std::string_view text,
                                              const std::vector<std::size_t>& rules, Place place,
                                              ScanBudget& budget) const;

  /// A line for each example that a rule wrongly matches or misses.
  [[nodiscard]] std::vector<std::string> failed_examples() const;

 private:
  struct Parts;
  explicit RuleSet(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tool::guard
