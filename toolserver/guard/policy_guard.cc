#include "toolserver/guard/policy_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "base/http/dial.h"
#include "toolserver/pipeline/rate.h"
#include "toolserver/pipeline/redact.h"

namespace tool::guard {
namespace {

using base::json::Object;
using base::json::Value;
using pipeline::GuardDecision;
using pipeline::OutputDecision;
using pipeline::Verdict;
using std::chrono::steady_clock;

constexpr std::string_view kPath = "/v1/data/scp/authz?provenance=true";

// Of all failures the one that no caller can bring about: a connection that broke
// while a long question was sent is none.
bool is_unreachable(const base::Error& error) { return error.reason() == base::http::kNobodyThere; }

// "deny: over_limit, Too much (policy=3)"
std::string words_of(const PolicyAnswer& answer) {
  std::string out(name(answer.effect));
  if (!answer.reasons.empty()) {
    out +=
        fmt::format(": {}", base::for_terminal(fmt::format("{}", fmt::join(answer.reasons, ", "))));
  }
  if (!answer.revision.empty()) out += fmt::format(" ({})", base::for_terminal(answer.revision));
  return out;
}

}  // namespace

base::Result<std::shared_ptr<PolicyGuard>> PolicyGuard::create(PolicyOptions options,
                                                               Quarantine& quarantine) {
  pipeline::WebhookOptions engine;
  engine.url = options.url + std::string(kPath);
  engine.timeout = options.timeout;
  engine.answer_bytes = options.answer_bytes;
  engine.ca_file = options.ca_file;
  engine.bearer = options.bearer;
  ASSIGN_OR_RETURN(auto webhook, pipeline::Webhook::create(std::move(engine)));
  return std::shared_ptr<PolicyGuard>(
      new PolicyGuard(std::move(options), std::move(webhook), quarantine));
}

PolicyGuard::PolicyGuard(PolicyOptions options, std::unique_ptr<pipeline::Webhook> engine,
                         Quarantine& quarantine)
    : options_(std::move(options)),
      engine_(std::move(engine)),
      quarantine_(quarantine),
      cache_(options_.cache_time, options_.cache_entries) {}

// A question changes nothing, so one that a kept connection took with it when it
// was closed is put once more, in what is left of the time.
base::Task<base::Result<Object>> PolicyGuard::post(const Invocation& call, Object question) {
  base::RequestContext context = call.context;
  context.deadline = steady_clock::now() + options_.timeout;
  std::string principal = pipeline::key_of(*call.principal);
  auto answer = co_await engine_->post(context, principal, question);
  if (answer || answer.error().kind() != base::ErrorKind::kOutcomeUnknown) co_return answer;
  co_return co_await engine_->post(context, std::move(principal), std::move(question));
}

base::Task<PolicyGuard::Asked> PolicyGuard::ask(const Invocation& call, Object question) {
  Asked asked;
  if (!breaker_.admits(steady_clock::now())) {
    asked.state = Asked::State::kUnreachable;
    asked.why = "the policy engine was away a moment ago";
    co_return asked;
  }
  auto body = co_await post(call, std::move(question));
  if (!body) {
    asked.why = body.error().message() + " " + body.error().detail();
    if (is_unreachable(body.error())) {
      breaker_.failed(steady_clock::now());
      asked.state = Asked::State::kUnreachable;
    } else {
      breaker_.succeeded();  // Somebody was there.
    }
    co_return asked;
  }
  breaker_.succeeded();
  auto answer = parse_policy_answer(*body);
  if (answer) {
    asked.state = Asked::State::kAnswered;
    asked.answer = std::move(*answer);
  } else {
    asked.why = answer.error().message();
  }
  co_return asked;
}

PolicyGuard::Ruling PolicyGuard::rule(const Invocation& call, const Asked& asked) {
  switch (asked.state) {
    case Asked::State::kTooLong:
      return {Verdict::kDenied, asked.why, "it is more than can be judged"};
    case Asked::State::kUnclear: return {Verdict::kCouldNotTell, asked.why, ""};
    case Asked::State::kUnreachable:
      if (options_.failure == PolicyFailure::kOpen) {
        return {Verdict::kAllowed, "nobody was asked: " + asked.why, ""};
      }
      return {Verdict::kCouldNotTell, asked.why, ""};
    case Asked::State::kAnswered: break;
  }
  const PolicyAnswer& answer = asked.answer;
  Ruling ruling{Verdict::kAllowed, words_of(answer), told_reasons(answer.reasons)};
  if (answer.quarantines) {
    auto held = quarantine_.add(call.tool, ruling.reason);
    if (!held) ruling.reason += "; " + held.error().message();
  }
  if (answer.effect == Effect::kDeny || answer.quarantines) ruling.verdict = Verdict::kDenied;
  return ruling;
}

base::Task<GuardDecision> PolicyGuard::judge(const Invocation& call, const Capability& capability) {
  // As a value, so that writing it does not copy it.
  Value question(policy_question(Phase::kPre, call, capability, nullptr));
  std::string text = base::json::write(question);
  Asked asked;
  if (text.size() > options_.question_bytes) {
    asked.state = Asked::State::kTooLong;
    asked.why = "the call is longer than a question may be";
  } else {
    std::string key = DecisionCache::key_of(text);
    if (auto kept = cache_.find(key, steady_clock::now())) {
      asked.state = Asked::State::kAnswered;
      asked.answer = std::move(*kept);
    } else {
      asked = co_await ask(call, std::move(question.get_object()));
      if (asked.state == Asked::State::kAnswered) {
        cache_.came(key, asked.answer, steady_clock::now());
      }
    }
  }
  Ruling ruling = rule(call, asked);
  GuardDecision decision;
  decision.verdict = ruling.verdict;
  decision.reason = std::move(ruling.reason);
  decision.told = std::move(ruling.told);
  decision.redact = std::move(asked.answer.redact);
  // Nobody said what of the arguments must not be recorded.
  if (asked.state != Asked::State::kAnswered) decision.redact.arguments = {""};
  if (asked.answer.asks_consent) decision.consent = pipeline::ConsentDemand::kDemanded;
  co_return decision;
}

base::Task<OutputDecision> PolicyGuard::inspect(const Invocation& call,
                                                const Capability& capability, ToolResult result) {
  Value question(policy_question(Phase::kPost, call, capability, &result));
  Asked asked;
  if (base::json::write(question).size() > options_.question_bytes) {
    asked.state = Asked::State::kTooLong;
    asked.why = "the answer is longer than a question may be";
  } else {
    asked = co_await ask(call, std::move(question.get_object()));
    if (asked.state == Asked::State::kAnswered) cache_.saw(asked.answer.revision);
  }
  Ruling ruling = rule(call, asked);
  OutputDecision decision;
  decision.verdict = ruling.verdict;
  decision.reason = std::move(ruling.reason);
  decision.told = std::move(ruling.told);
  if (asked.answer.asks_consent && decision.verdict == Verdict::kAllowed) {
    decision.verdict = Verdict::kDenied;
    decision.reason += "; nobody can be asked once the tool has run";
  }
  if (decision.verdict != Verdict::kAllowed) co_return decision;
  decision.redactions = pipeline::redact_at(result, asked.answer.redact.result);
  decision.result = std::move(result);
  co_return decision;
}

}  // namespace tool::guard
