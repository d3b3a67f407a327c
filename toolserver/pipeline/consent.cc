#include "toolserver/pipeline/consent.h"

#include <fmt/format.h>

#include "toolserver/pipeline/rate.h"
#include "toolserver/pipeline/within.h"

namespace tool {
namespace {

using pipeline::ConsentAnswer;
using pipeline::ConsentDecision;
using pipeline::ConsentDemand;
using pipeline::ConsentScope;

constexpr std::size_t kPreview = 1024;

// Keys hold lengths, so that no two different sets of parts make one key.
std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) out += fmt::format("{}:{}", part.size(), part);
  return out;
}

std::string session_key(const Invocation& call, const std::string& pin) {
  return join(
      {"session", pipeline::key_of(call.principal), call.session_id, call.tool.text(), pin});
}

std::string args_key(const Invocation& call, const std::string& pin) {
  return join({"args", pipeline::key_of(call.principal), call.tool.text(), pin, call.args_hash});
}

std::string_view name(ConsentScope scope) {
  switch (scope) {
    case ConsentScope::kOnce: return "once";
    case ConsentScope::kSession: return "session";
    case ConsentScope::kArgsHash: return "args_hash";
  }
  return "";
}

// A foreign server's hints are its own claims: they never lower the risk.
std::string_view risk_of(const Capability& capability) {
  const Annotations& hints = capability.annotations;
  if (capability.origin != OriginKind::kLocal) return "high";
  if (hints.read_only) return "low";
  return hints.destructive ? "high" : "medium";
}

std::string cut(std::string text) {
  if (text.size() <= kPreview) return text;
  std::size_t end = kPreview;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace

pipeline::ConsentQuestion ConsentStage::question_for(const Invocation& call,
                                                     const Capability& capability) const {
  pipeline::ConsentQuestion question;
  question.request_id = call.request_id;
  question.session_id = call.session_id;
  question.principal = call.principal.subject;
  question.tool = call.tool.text();
  question.summary = fmt::format("{} asks to run {}{}{}", call.principal.subject, call.tool.text(),
                                 capability.title.empty() ? "" : ": ", capability.title);
  question.args_preview = cut(base::json::write(call.args));
  question.risk = risk_of(capability);
  question.expires = clock_.now() + options_.timeout;
  return question;
}

Approved<Invocation> ConsentStage::approved(Invocation call, std::chrono::milliseconds time) {
  call.context.deadline = std::chrono::steady_clock::now() + time;
  return Approved<Invocation>(std::move(call));
}

base::Task<ConsentStage::Answer> ConsentStage::approve(
    Invocation call, std::shared_ptr<const pipeline::ToolEntry> entry, ConsentDemand demand,
    std::chrono::milliseconds time) {
  ConsentRule rule = entry->capability.consent;
  bool is_demanded = demand == ConsentDemand::kDemanded;
  if (rule == ConsentRule::kNever && !is_demanded) {
    co_return Answer{approved(std::move(call), time), "not needed", {}};
  }
  if (call.dry_run) co_return Answer{approved(std::move(call), time), "dry run", {}};
  if (rule == ConsentRule::kFirst && !is_demanded && is_remembered(call, entry->pin)) {
    co_return Answer{approved(std::move(call), time), "remembered", {}};
  }
  if (!hook_) {
    co_return Answer{
        refuse(Code::kConsent, "the call needs consent and nobody can be asked"), "no hook", {}};
  }
  auto asked_at = std::chrono::steady_clock::now();
  base::RequestContext context = call.context;
  context.deadline = asked_at + options_.timeout;
  auto answer = co_await pipeline::within(
      context.deadline, hook_->ask(context, question_for(call, entry->capability)));
  auto waited = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - asked_at);
  if (!answer) {
    Fault& fault = answer.error();
    std::string note = fmt::format("no answer ({})", tool::name(fault.code));
    if (fault.code == Code::kCancelled) co_return Answer{std::move(fault), std::move(note), waited};
    Fault refusal = refuse(Code::kConsent, "the call needs consent and none was given");
    refusal.detail = fault.message + " " + fault.detail;
    co_return Answer{std::move(refusal), std::move(note), waited};
  }
  if (answer->decision != ConsentDecision::kApprove) {
    std::string note = answer->decision == ConsentDecision::kDeny ? "denied by " : "timeout of ";
    co_return Answer{refuse(Code::kConsent, "the call was not agreed to"), note + answer->by,
                     waited};
  }
  remember(call, entry->pin, answer->scope);
  std::string note = fmt::format("approved for {} by {}", name(answer->scope), answer->by);
  co_return Answer{approved(std::move(call), time), std::move(note), waited};
}

bool ConsentStage::is_remembered(const Invocation& call, const std::string& pin) {
  base::WallTime now = clock_.now();
  std::lock_guard held(mutex_);
  for (const std::string& key : {session_key(call, pin), args_key(call, pin)}) {
    auto found = memory_.find(key);
    if (found != memory_.end() && found->second > now) return true;
  }
  return false;
}

void ConsentStage::remember(const Invocation& call, const std::string& pin, ConsentScope scope) {
  if (scope == ConsentScope::kOnce) return;
  base::WallTime now = clock_.now();
  std::string key = scope == ConsentScope::kSession ? session_key(call, pin) : args_key(call, pin);
  std::lock_guard held(mutex_);
  if (memory_.size() >= options_.remembered) {
    std::erase_if(memory_, [&](const auto& one) { return one.second <= now; });
  }
  // A full memory costs a question more, never one less.
  if (memory_.size() < options_.remembered) memory_[key] = now + options_.memory;
}

}  // namespace tool
