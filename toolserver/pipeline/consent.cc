#include "toolserver/pipeline/consent.h"

#include <fmt/format.h>

#include <algorithm>

#include "toolserver/pipeline/consent_question.h"
#include "toolserver/pipeline/rate.h"
#include "toolserver/pipeline/within.h"

namespace tool {
namespace {

using pipeline::ConsentAnswer;
using pipeline::ConsentDecision;
using pipeline::ConsentDemand;
using pipeline::ConsentScope;

// Keys hold lengths, so that no two different sets of parts make one key.
std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) out += fmt::format("{}:{}", part.size(), part);
  return out;
}

std::string session_key(const Invocation& call, const std::string& pin) {
  return join(
      {"session", pipeline::key_of(*call.principal), call.session_id, call.tool.text(), pin});
}

std::string args_key(const Invocation& call, const std::string& pin) {
  return join({"args", pipeline::key_of(*call.principal), call.tool.text(), pin, call.args_hash});
}

// What the caller is told of a hook that gave no answer. The details are the
// operator's.
std::string_view reason_of(Code code) {
  switch (code) {
    case Code::kTimeout: return "the call needs consent, and nobody answered in time";
    case Code::kUpstream:
      return "the call needs consent, and the service that asks for it gave no answer";
    default: return "the call needs consent, and what was answered is neither yes nor no";
  }
}

}  // namespace

std::string_view pipeline::name(ConsentScope scope) {
  switch (scope) {
    case ConsentScope::kOnce: return "once";
    case ConsentScope::kSession: return "session";
    case ConsentScope::kArgsHash: return "args_hash";
  }
  return "";
}

Approved<Invocation> ConsentStage::approved(Invocation call, std::chrono::milliseconds time) {
  call.context.deadline = std::chrono::steady_clock::now() + time;
  return Approved<Invocation>(std::move(call));
}

std::optional<ConsentStage::Answer> ConsentStage::without_asking(
    Invocation& call, const pipeline::ToolEntry& entry, ConsentDemand demand,
    std::chrono::milliseconds time, const pipeline::ConsentHook* asker) {
  ConsentRule rule = entry.capability.consent;
  bool is_demanded = demand == ConsentDemand::kDemanded;
  if (rule == ConsentRule::kNever && !is_demanded) {
    return Answer{approved(std::move(call), time), "not needed", {}, {}};
  }
  if (call.dry_run) return Answer{approved(std::move(call), time), "dry run", {}, {}};
  if (rule == ConsentRule::kFirst && !is_demanded && is_remembered(call, entry.pin)) {
    return Answer{approved(std::move(call), time), "remembered", {}, {}};
  }
  if (!hook_ && asker == nullptr) {
    return Answer{refuse(Code::kConsent, "the call needs consent and nobody can be asked"),
                  "no hook",
                  {},
                  {}};
  }
  return std::nullopt;
}

base::Task<ConsentStage::Answer> ConsentStage::ask(Invocation call,
                                                   std::shared_ptr<const pipeline::ToolEntry> entry,
                                                   std::chrono::milliseconds time,
                                                   std::shared_ptr<pipeline::ConsentHook> asker) {
  if (hook_) asker = hook_;
  auto asked_at = std::chrono::steady_clock::now();
  base::RequestContext context = call.context;
  context.deadline = asked_at + options_.timeout;
  auto question = pipeline::question_of(call, entry->capability, clock_.now() + options_.timeout);
  if (!question) co_return Answer{std::move(question).error(), "not asked", {}, {}};
  auto answer =
      co_await pipeline::within(context.deadline, asker->ask(context, *std::move(question)));
  auto waited = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - asked_at);
  if (!answer) {
    Fault& fault = answer.error();
    std::string note = fmt::format("no answer ({})", tool::name(fault.code));
    if (fault.code == Code::kCancelled) {
      co_return Answer{std::move(fault), std::move(note), {}, waited};
    }
    Fault refusal = refuse(Code::kConsent, std::string(reason_of(fault.code)));
    refusal.detail = fault.message + " " + fault.detail;
    std::string why = refusal.detail;
    co_return Answer{std::move(refusal), std::move(note), std::move(why), waited};
  }
  if (answer->decision == ConsentDecision::kAsked) {
    co_return Answer{refuse(Code::kConsent, "the call needs consent, which is asked for"),
                     "asked " + answer->by,
                     {},
                     waited};
  }
  if (answer->decision != ConsentDecision::kApprove) {
    std::string note = answer->decision == ConsentDecision::kDeny ? "denied by " : "timeout of ";
    co_return Answer{
        refuse(Code::kConsent, "the call was not agreed to"), note + answer->by, {}, waited};
  }
  bool is_wider = answer->scope == ConsentScope::kSession && !entry->capability.session_consent;
  if (is_wider) answer->scope = ConsentScope::kOnce;
  remember(call, entry->pin, *answer);
  std::string note =
      fmt::format("approved for {} by {}", pipeline::name(answer->scope), answer->by);
  co_return Answer{approved(std::move(call), time), std::move(note), {}, waited};
}

bool ConsentStage::is_remembered(const Invocation& call, const std::string& pin) {
  base::WallTime now = clock_.now();
  return memory_->holds(session_key(call, pin), now) || memory_->holds(args_key(call, pin), now);
}

void ConsentStage::remember(const Invocation& call, const std::string& pin,
                            const ConsentAnswer& answer) {
  if (answer.scope == ConsentScope::kOnce) return;
  bool is_session = answer.scope == ConsentScope::kSession;
  base::WallTime now = clock_.now();
  memory_->put(is_session ? session_key(call, pin) : args_key(call, pin),
               {.subject = call.principal->subject,
                .issuer = call.principal->issuer,
                .tool = call.tool.text(),
                .scope = answer.scope,
                .session_id = is_session ? call.session_id : std::string(),
                .by = answer.by,
                .until = now + options_.memory},
               options_.remembered, now);
}

bool ConsentMemory::holds(const std::string& key, base::WallTime now) const {
  std::lock_guard held(mutex_);
  auto found = approvals_.find(key);
  return found != approvals_.end() && found->second.until > now;
}

void ConsentMemory::put(std::string key, Approval approval, std::size_t most, base::WallTime now) {
  std::lock_guard held(mutex_);
  if (approvals_.size() >= most) {
    std::erase_if(approvals_, [&](const auto& one) { return one.second.until <= now; });
  }
  if (approvals_.size() >= most) return;
  approval.id = ++last_;
  approvals_.insert_or_assign(std::move(key), std::move(approval));
}

std::vector<ConsentMemory::Approval> ConsentMemory::list(base::WallTime now) const {
  std::vector<Approval> out;
  {
    std::lock_guard held(mutex_);
    for (const auto& [key, approval] : approvals_) {
      if (approval.until > now) out.push_back(approval);
    }
  }
  std::ranges::sort(out, {}, &Approval::id);
  return out;
}

std::size_t ConsentMemory::revoke(const std::function<bool(const Approval&)>& chosen) {
  std::lock_guard held(mutex_);
  return std::erase_if(approvals_, [&](const auto& one) { return chosen(one.second); });
}

}  // namespace tool
