#include "toolserver/guard/rules_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/text.h"
#include "toolserver/guard/json_texts.h"
#include "toolserver/pipeline/redact.h"

namespace tool::guard {
namespace {

using base::json::Value;
using pipeline::GuardDecision;
using pipeline::OutputDecision;
using pipeline::Verdict;

constexpr std::size_t kNamedFindings = 8;
constexpr std::size_t kShownPointer = 64;

// What was found in one call or answer, in words for the audit and the caller.
class Findings {
 public:
  explicit Findings(const RuleSet& rules) : rules_(rules) {}

  void add(std::size_t index, std::string_view where) {
    const Rule& rule = rules_.rules()[index];
    if (rule.action >= worst_) {
      if (rule.action > worst_) kinds_.clear();
      worst_ = rule.action;
      kinds_.insert(name(rule.kind));
    }
    if (named_++ < kNamedFindings) {
      text_ += fmt::format("{}{} in {}", text_.empty() ? "" : ", ", rule.id,
                           base::for_terminal(base::shorten(where, kShownPointer)));
    }
  }
  void add(const std::vector<std::size_t>& indexes, std::string_view where) {
    for (std::size_t index : indexes) add(index, where);
  }
  [[nodiscard]] RuleAction worst() const { return worst_; }
  [[nodiscard]] std::string text() const {
    if (named_ <= kNamedFindings) return text_;
    return fmt::format("{} and {} more", text_, named_ - kNamedFindings);
  }
  // The kinds of what was refused, and no more: a rule's id or its text would
  // help whoever tries to get past it.
  [[nodiscard]] std::string told() const {
    return fmt::format("it looks like {}", fmt::join(kinds_, " and "));
  }

 private:
  const RuleSet& rules_;
  RuleAction worst_ = RuleAction::kNote;
  std::set<std::string_view> kinds_;
  std::string text_;
  std::size_t named_ = 0;
};

// Those of `indexes` whose matches go out of an answer.
std::vector<std::size_t> redacting(const RuleSet& rules, std::vector<std::size_t> indexes) {
  std::erase_if(indexes,
                [&](std::size_t one) { return rules.rules()[one].action != RuleAction::kRedact; });
  return indexes;
}

// A secret that stands where it must not is not copied into the trail.
bool is_kept_out_of_audit(const Rule& rule) {
  return rule.action == RuleAction::kRedact || rule.kind != RuleKind::kInjection;
}

// Pointers as the audit may show them: without the names that a rule matches.
class ShownPointers {
 public:
  // The name that `pointer` ends with is not shown, nor what lies below it.
  void hide(std::string_view pointer) {
    if (!is_hidden(pointer)) hidden_ = pointer;
  }
  [[nodiscard]] std::string of(const std::string& pointer) const {
    return is_hidden(pointer) ? hidden_.substr(0, hidden_.rfind('/')) + "/..." : pointer;
  }

 private:
  // The walk is through with all below a name before it comes to the next.
  [[nodiscard]] bool is_hidden(std::string_view pointer) const {
    if (hidden_.empty() || !pointer.starts_with(hidden_)) return false;
    return pointer.size() == hidden_.size() || pointer[hidden_.size()] == '/';
  }
  std::string hidden_;
};

constexpr std::string_view kTooMuch = "it is more than can be read through";

// Looks through an answer and takes out what must go.
class Inspection {
 public:
  Inspection(const RuleSet& rules, const ScanLimits& limits)
      : rules_(rules), budget_(limits), findings_(rules) {}

  base::Status content(Content& part, std::size_t number) {
    std::string where = fmt::format("/content/{}", number);
    // The model behind the caller reads these, too, and a part of a URI cannot be taken out.
    for (const std::string* words : {&part.uri, &part.name}) {
      ASSIGN_OR_RETURN(auto named, rules_.scan(*words, Place::kResult, budget_));
      findings_.add(named, where);
      if (!redacting(rules_, std::move(named)).empty()) return withhold();
    }
    ASSIGN_OR_RETURN(auto found, rules_.scan(part.data, Place::kResult, budget_));
    findings_.add(found, where);
    auto taken_out = redacting(rules_, std::move(found));
    if (taken_out.empty()) return {};
    if (!part.is_text()) return withhold();
    ASSIGN_OR_RETURN(auto redacted, rules_.redact(part.data, taken_out, Place::kResult, budget_));
    part.data = std::move(redacted.text);
    redactions_ += redacted.count;
    return {};
  }

  base::Status structured(Value& document) {
    ShownPointers shown;
    return each_text(document,
                     [&](TextRole role, std::string_view text, const std::string& pointer,
                         Value& value) -> base::Status {
                       ASSIGN_OR_RETURN(auto found, rules_.scan(text, Place::kResult, budget_));
                       if (role == TextRole::kName && !found.empty()) shown.hide(pointer);
                       findings_.add(found, "/structured" + shown.of(pointer));
                       auto taken_out = redacting(rules_, std::move(found));
                       if (taken_out.empty()) return {};
                       if (role == TextRole::kName) return withhold();
                       if (role == TextRole::kNumber) {
                         value = boost::json::string(pipeline::kRedacted);
                         ++redactions_;
                         return {};
                       }
                       ASSIGN_OR_RETURN(auto redacted,
                                        rules_.redact(text, taken_out, Place::kResult, budget_));
                       value = boost::json::string(redacted.text);
                       redactions_ += redacted.count;
                       return {};
                     });
  }

  [[nodiscard]] const Findings& findings() const { return findings_; }
  [[nodiscard]] std::uint64_t redactions() const { return redactions_; }

 private:
  static base::Status withhold() {
    return base::fail(base::ErrorKind::kForbidden, "what was found cannot be taken out");
  }
  const RuleSet& rules_;
  ScanBudget budget_;
  Findings findings_;
  std::uint64_t redactions_ = 0;
};

base::Status look_through(Inspection& inspection, ToolResult& result) {
  std::size_t number = 0;
  for (Content& part : result.content) {
    RETURN_IF_ERROR(inspection.content(part, number++));
  }
  if (result.structured) return inspection.structured(*result.structured);
  return {};
}

GuardDecision verdict_on(const Findings& findings, pipeline::Redactions hidden) {
  GuardDecision decision;
  decision.verdict = Verdict::kAllowed;
  decision.reason = findings.text();
  decision.redact = std::move(hidden);
  if (findings.worst() == RuleAction::kDeny) {
    decision.verdict = Verdict::kDenied;
    decision.told = findings.told();
  } else if (findings.worst() == RuleAction::kConsent) {
    decision.consent = pipeline::ConsentDemand::kDemanded;
  }
  return decision;
}

}  // namespace

base::Task<GuardDecision> RulesGuard::judge(const Invocation& call, const Capability&) {
  ScanBudget budget(limits_);
  Findings findings(*rules_);
  pipeline::Redactions hidden;
  Value args(call.args);
  ShownPointers shown;
  auto scanned = each_text(
      args,
      [&](TextRole role, std::string_view text, const std::string& pointer,
          Value&) -> base::Status {
        ASSIGN_OR_RETURN(auto found, rules_->scan(text, Place::kArguments, budget));
        if (role == TextRole::kName && !found.empty()) shown.hide(pointer);
        findings.add(found, shown.of(pointer));
        bool hides = std::ranges::any_of(
            found, [&](std::size_t one) { return is_kept_out_of_audit(rules_->rules()[one]); });
        // A name goes with the object that has it.
        if (hides) {
          hidden.arguments.push_back(role == TextRole::kName ? pointer.substr(0, pointer.rfind('/'))
                                                             : pointer);
        }
        return {};
      });
  if (scanned) co_return verdict_on(findings, std::move(hidden));
  GuardDecision decision;
  decision.verdict = Verdict::kDenied;
  decision.reason = scanned.error().message();
  decision.told = std::string(kTooMuch);
  decision.redact.arguments = {""};
  co_return decision;
}

base::Task<OutputDecision> RulesGuard::inspect(const Invocation&, const Capability&,
                                               ToolResult result) {
  Inspection inspection(*rules_, limits_);
  OutputDecision decision;
  auto done = look_through(inspection, result);
  decision.reason = inspection.findings().text();
  decision.verdict = Verdict::kDenied;
  if (!done) {
    decision.reason += (decision.reason.empty() ? "" : "; ") + done.error().message();
    decision.told = done.error().kind() == base::ErrorKind::kForbidden
                        ? inspection.findings().told()
                        : std::string(kTooMuch);
    co_return decision;
  }
  if (inspection.findings().worst() == RuleAction::kDeny) {
    decision.told = inspection.findings().told();
    co_return decision;
  }
  decision.verdict = Verdict::kAllowed;
  decision.redactions = inspection.redactions();
  decision.result = std::move(result);
  co_return decision;
}

bool passes_screen(const RuleSet& rules, const Capability& capability, const ScanLimits& limits) {
  bool is_asked =
      std::ranges::any_of(rules.rules(), [](const Rule& rule) { return rule.where.description; });
  if (!is_asked) return true;
  ScanBudget budget(limits);
  base::json::Object words = capability.to_json();
  if (!capability.listed.empty()) words["listed"] = capability.listed;
  Value record(std::move(words));
  bool passes = true;
  auto scanned = each_text(
      record, [&](TextRole, std::string_view text, const std::string&, Value&) -> base::Status {
        ASSIGN_OR_RETURN(auto found, rules.scan(text, Place::kDescription, budget));
        passes = passes && found.empty();
        return {};
      });
  return scanned && passes;
}

}  // namespace tool::guard
