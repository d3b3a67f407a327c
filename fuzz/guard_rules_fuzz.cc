// Any bytes as a rule file: it is refused, or its rules are within their bounds,
// compile or are refused, and read texts without a fault.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "toolserver/guard/rule_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto file = tool::guard::parse_rule_file(text);
  if (!file) return 0;
  if (file->rules.empty() || file->rules.size() > tool::guard::kRulesOfFile) std::abort();
  for (const auto& rule : file->rules) {
    bool is_about_nothing = !rule.where.arguments && !rule.where.result && !rule.where.description;
    if (rule.pattern.empty() || rule.pattern.size() > tool::guard::kPatternBytes ||
        rule.matches.empty() || rule.misses.empty() || is_about_nothing) {
      std::abort();
    }
  }
  auto set = tool::guard::RuleSet::compile(file->rules);
  if (!set) return 0;
  tool::guard::ScanBudget budget({});
  auto found = (*set)->scan(text, tool::guard::Place::kResult, budget);
  if (!found || found->empty()) return 0;
  auto redacted = (*set)->redact(text, *found, tool::guard::Place::kResult, budget);
  if (!redacted) return 0;
  auto left = (*set)->scan(redacted->text, tool::guard::Place::kResult, budget);
  for (std::size_t rule : left ? *left : *found) {
    if (left && std::ranges::binary_search(*found, rule)) std::abort();
  }
  return 0;
}
