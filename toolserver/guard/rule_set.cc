#include "toolserver/guard/rule_set.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "toolserver/guard/folding.h"
#include "toolserver/pipeline/redact.h"

namespace tool::guard {
namespace {

constexpr std::int64_t kSetBytes = 256 << 20;
constexpr std::int64_t kPatternMemory = 8 << 20;
// So many matches of one rule in one text; a text with more is not shown at all.
constexpr std::size_t kMatches = 10'000;
constexpr int kRounds = 3;

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

RE2::Options options_of(std::int64_t memory) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memory);
  return options;
}

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_about(const Rule& rule, Place place) {
  switch (place) {
    case Place::kArguments: return rule.where.arguments;
    case Place::kResult: return rule.where.result;
    case Place::kDescription: return rule.where.description;
  }
  return false;
}

using Visit = std::function<void(Span)>;

// The matches of one rule that pass its check, one after the other.
base::Status each_match(const RE2& pattern, RuleCheck check, std::string_view text,
                        const ScanBudget& budget, const Visit& visit) {
  std::size_t at = 0;
  std::size_t count = 0;
  re2::StringPiece found;
  while (at <= text.size() &&
         pattern.Match(piece(text), at, text.size(), RE2::UNANCHORED, &found, 1)) {
    if (++count > kMatches)
      return base::fail(base::ErrorKind::kTooLarge, "too many matches in one text");
    RETURN_IF_ERROR(budget.check_time());
    auto begin = static_cast<std::size_t>(found.data() - text.data());
    if (passes(check, std::string_view(found.data(), found.size()))) {
      visit({begin, begin + found.size()});
    }
    at = std::max(begin + found.size(), at + 1);
  }
  return {};
}

std::string replaced(std::string_view text, std::vector<Span> spans, std::size_t& count) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::string out;
  std::size_t at = 0;
  for (const Span& span : spans) {
    if (span.end <= at) continue;
    bool is_joined = count > 0 && span.begin < at;  // It overlaps the one before.
    if (!is_joined) {
      out += text.substr(at, span.begin - at);
      out += pipeline::kRedacted;
      ++count;
    }
    at = span.end;
  }
  out += text.substr(at);
  return out;
}

}  // namespace

base::Status ScanBudget::take(std::size_t bytes) {
  if (bytes > bytes_)
    return base::fail(base::ErrorKind::kTooLarge, "more text than is read through");
  bytes_ -= bytes;
  return check_time();
}

base::Status ScanBudget::check_time() const {
  if (std::chrono::steady_clock::now() <= end_) return {};
  return base::fail(base::ErrorKind::kTimeout, "the text could not be read through in time");
}

struct RuleSet::Parts {
  std::vector<Rule> rules;
  std::vector<std::unique_ptr<RE2>> patterns;
  RE2::Set all{options_of(kSetBytes), RE2::UNANCHORED};

  // Adds the rules that match one form of a text.
  base::Status match(std::string_view text, Place place, const ScanBudget& budget,
                     std::set<std::size_t>& found) const;
};

base::Status RuleSet::Parts::match(std::string_view text, Place place, const ScanBudget& budget,
                                   std::set<std::size_t>& found) const {
  RETURN_IF_ERROR(budget.check_time());
  std::vector<int> hits;
  RE2::Set::ErrorInfo error{};
  if (!all.Match(piece(text), &hits, &error)) {
    if (error.kind == RE2::Set::kNoError) return {};
    return base::fail(base::ErrorKind::kInternal, "the patterns ran out of memory");
  }
  for (int hit : hits) {
    auto index = static_cast<std::size_t>(hit);
    const Rule& rule = rules[index];
    if (!is_about(rule, place) || found.contains(index)) continue;
    bool matches = rule.check == RuleCheck::kNone;
    if (!matches) {
      RETURN_IF_ERROR(
          each_match(*patterns[index], rule.check, text, budget, [&](Span) { matches = true; }));
    }
    if (matches) found.insert(index);
  }
  return {};
}

RuleSet::RuleSet(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
RuleSet::~RuleSet() = default;
const std::vector<Rule>& RuleSet::rules() const { return parts_->rules; }

base::Result<std::shared_ptr<const RuleSet>> RuleSet::compile(std::vector<Rule> rules) {
  auto parts = std::make_unique<Parts>();
  std::set<std::string_view> ids;
  for (const Rule& rule : rules) {
    auto refuse = [&](std::string_view why) {
      return base::fail(base::ErrorKind::kInvalid, fmt::format("rule {}: {}", rule.id, why));
    };
    if (!ids.insert(rule.id).second) return refuse("the id is taken");
    auto pattern = std::make_unique<RE2>(piece(rule.pattern), options_of(kPatternMemory));
    if (!pattern->ok()) return refuse("pattern: RE2 refuses it: " + pattern->error());
    if (RE2::PartialMatch("", *pattern)) return refuse("pattern: matches the empty text");
    std::string error;
    if (parts->all.Add(piece(rule.pattern), &error) < 0) {
      return refuse("pattern: RE2 refuses it: " + error);
    }
    parts->patterns.push_back(std::move(pattern));
  }
  if (!parts->all.Compile()) {
    return base::fail(base::ErrorKind::kTooLarge, "the patterns together need too much memory");
  }
  parts->rules = std::move(rules);
  return std::shared_ptr<const RuleSet>(new RuleSet(std::move(parts)));
}

base::Result<std::vector<std::size_t>> RuleSet::scan(std::string_view text, Place place,
                                                     ScanBudget& budget) const {
  std::set<std::size_t> found;
  if (parts_->rules.empty() || text.empty()) return std::vector<std::size_t>();
  RETURN_IF_ERROR(budget.take(text.size()));
  RETURN_IF_ERROR(parts_->match(text, place, budget, found));
  if (!is_plain(text)) {
    RETURN_IF_ERROR(parts_->match(fold(text, Origins::kLeftOut).text, place, budget, found));
  }
  for (const Encoded& one : encoded_texts(text)) {
    for (const std::string& said : one.texts) {
      RETURN_IF_ERROR(parts_->match(fold(said, Origins::kLeftOut).text, place, budget, found));
    }
  }
  return std::vector<std::size_t>(found.begin(), found.end());
}

namespace {

// Where `pattern` matches a text, its folded form, or what it says in base64.
base::Status spans_of(const RE2& pattern, RuleCheck check, std::string_view text,
                      const Folded& folded, const std::vector<Encoded>& encoded,
                      const ScanBudget& budget, std::vector<Span>& spans) {
  RETURN_IF_ERROR(
      each_match(pattern, check, text, budget, [&](Span span) { spans.push_back(span); }));
  RETURN_IF_ERROR(each_match(pattern, check, folded.text, budget, [&](Span span) {
    spans.push_back({folded.origin[span.begin], folded.origin[span.end]});
  }));
  for (const Encoded& one : encoded) {
    for (const std::string& said : one.texts) {
      RETURN_IF_ERROR(each_match(pattern, check, fold(said, Origins::kLeftOut).text, budget,
                                 [&](Span) { spans.push_back({one.begin, one.end}); }));
    }
  }
  return {};
}

}  // namespace

base::Result<RuleSet::Redacted> RuleSet::redact(std::string_view text,
                                                const std::vector<std::size_t>& rules, Place place,
                                                ScanBudget& budget) const {
  Redacted out{std::string(text), 0};
  for (int round = 0; round < kRounds; ++round) {
    Folded folded = fold(out.text, Origins::kKept);
    auto encoded = encoded_texts(out.text);
    std::vector<Span> spans;
    for (std::size_t index : rules) {
      RETURN_IF_ERROR(spans_of(*parts_->patterns[index], parts_->rules[index].check, out.text,
                               folded, encoded, budget, spans));
    }
    std::size_t count = 0;
    out.text = replaced(out.text, std::move(spans), count);
    out.count += count;
    ASSIGN_OR_RETURN(auto left, scan(out.text, place, budget));
    std::erase_if(left, [&](std::size_t one) { return !std::ranges::binary_search(rules, one); });
    if (left.empty()) return out;
  }
  return base::fail(base::ErrorKind::kInvalid, "what a rule matches could not be taken out");
}

std::vector<std::string> RuleSet::failed_examples() const {
  std::vector<std::string> out;
  for (std::size_t index = 0; index < parts_->rules.size(); ++index) {
    const Rule& rule = parts_->rules[index];
    Place place = rule.where.arguments ? Place::kArguments
                  : rule.where.result  ? Place::kResult
                                       : Place::kDescription;
    auto expect = [&](const std::vector<std::string>& texts, std::string_view member, bool wanted) {
      for (std::size_t i = 0; i < texts.size(); ++i) {
        ScanBudget budget({.bytes = kRuleFileBytes, .time = std::chrono::seconds(10)});
        auto found = scan(texts[i], place, budget);
        if (!found) {
          out.push_back(
              fmt::format("rule {}: {}[{}]: {}", rule.id, member, i, found.error().message()));
        } else if (std::ranges::binary_search(*found, index) != wanted) {
          out.push_back(fmt::format("rule {}: {}[{}]: the rule {} it", rule.id, member, i,
                                    wanted ? "does not match" : "matches"));
        }
      }
    };
    expect(rule.matches, "matches", true);
    expect(rule.misses, "misses", false);
  }
  return out;
}

}  // namespace tool::guard
