#include "toolserver/pipeline/pipeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "toolserver/pipeline/checks.h"
#include "toolserver/pipeline/passage.h"
#include "toolserver/pipeline/redact.h"
#include "toolserver/pipeline/within.h"

namespace tool::pipeline {
namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;
using std::chrono::steady_clock;

microseconds since(steady_clock::time_point start) {
  return std::chrono::duration_cast<microseconds>(steady_clock::now() - start);
}

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllowed: return "allowed";
    case Verdict::kDenied: return "denied";
    case Verdict::kCouldNotTell: return "could not tell";
  }
  return "";
}

Fault no_place(const base::Error& error) {
  if (error.kind() == base::ErrorKind::kCancelled) return refuse(Code::kCancelled, "cancelled");
  Fault fault = refuse(Code::kBusy, "the tool had no room for the call until its deadline");
  fault.retry_after = std::chrono::milliseconds(1'000);
  return fault;
}

// A guard gives a decision and no fault; within() wants one that can fail.
base::Task<Outcome<GuardDecision>> judged(GuardStage& guard, const Invocation& call,
                                          const Capability& capability) {
  co_return co_await guard.judge(call, capability);
}
base::Task<Outcome<OutputDecision>> inspected(GuardStage& guard, const Invocation& call,
                                              const Capability& capability, ToolResult result) {
  co_return co_await guard.inspect(call, capability, std::move(result));
}

// What the caller is told of a guard's no. Its reason is the operator's.
Fault refusal(Verdict verdict, const std::string& reason, const std::string& told) {
  if (verdict == Verdict::kDenied) {
    return refuse(Code::kPolicy,
                  told.empty() ? "a policy forbids it" : "a policy forbids it: " + told);
  }
  Fault fault = refuse(Code::kBusy, "the policy engine could not tell");
  fault.retry_after = std::chrono::milliseconds(1'000);
  fault.detail = reason;
  return fault;
}

Fault not_remembered(const base::Error& error) {
  Fault fault = refuse(Code::kBusy, "the call's key cannot be recorded just now");
  fault.retry_after = std::chrono::milliseconds(1'000);
  fault.detail = error.message() + " " + error.detail();
  return fault;
}

}  // namespace

Pipeline::Pipeline(PipelineOptions options, PipelineParts parts)
    : options_(options),
      parts_(std::move(parts)),
      rate_(options.rate),
      consent_(parts_.consent, options.consent, parts_.clock, parts_.agreed),
      trail_(parts_.audit, options.trail, parts_.clock, parts_.metrics),
      metrics_(parts_.metrics) {}

// The order of the checks. A call that breaks several rules is refused by the
// first; the reason beside each says why it stands where it does. Before the
// list, its session has parsed the call, authenticated the caller and looked
// for a replay.
base::Task<Outcome<void>> Pipeline::check(Passage& p) {
  // 1. Rate: before anything that costs, so that a flood pays for itself.
  p.stage = "rate";
  CO_ASSIGN_OR_RETURN(auto slot,
                      rate_.admit(*p.call.principal, p.call.session_id, steady_clock::now()));
  p.slot.emplace(std::move(slot));

  // 2. Shape: later stages see a tool that exists for this caller, and
  //    arguments that its schema allows.
  p.stage = "shape";
  CO_ASSIGN_OR_RETURN(p.entry, find_tool(parts_.registry, p.call));
  CO_ASSIGN_OR_RETURN(p.invocation, shape(p.call, *p.entry));
  trail_.describe(p.record, *p.entry, *p.invocation);
  p.hidden.arguments = p.call.taken;
  if (!p.call.taken.empty()) AuditTrail::hide(p.record, *p.invocation, p.hidden.arguments);

  // 3. Pin: what a foreign tool says of itself is believed by people and
  //    models from here on, so it must be what was approved.
  p.stage = "pin";
  CO_RETURN_IF_ERROR(check_pin(*p.entry));

  // 4. Authorise: the caller's own grants, before others are bothered.
  p.stage = "authorise";
  CO_RETURN_IF_ERROR(authorise(*p.invocation->principal, p.invocation->tool, parts_.clock.now()));
  if (p.invocation->principal->details.names(p.invocation->tool)) {
    p.invocation->context.deadline = steady_clock::now() + options_.guard_time;
    CO_RETURN_IF_ERROR(co_await check_details(*p.entry, *p.invocation));
  }
  p.is_authorised = true;

  // 5. Mode: a grant does not make a weak channel strong.
  p.stage = "min_mode";
  CO_RETURN_IF_ERROR(check_mode(p.invocation->mode, p.entry->capability));

  // 6. Argument rules: what the operator demands, in the connector that knows
  //    them; before others are asked about a call that cannot happen.
  p.stage = "argument_rules";
  CO_RETURN_IF_ERROR(p.entry->connector->allows(*p.invocation));

  // 7. Guard: the program's own judge sees only what grants and rules of the
  //    operator allow. Like the next two it may demand consent, so it comes before it.
  p.stage = "guard";
  CO_RETURN_IF_ERROR(co_await judge(p, parts_.guard.get()));

  // 8. Policy: the engine's answer may come from memory, so it is asked before
  //    the arguments are read through.
  p.stage = "policy";
  CO_RETURN_IF_ERROR(co_await judge(p, parts_.policy.get()));

  // 9. Rules: patterns over every text of the arguments, the dearest check here.
  p.stage = "rules";
  CO_RETURN_IF_ERROR(co_await judge(p, parts_.rules.get()));
  if (p.record.guard.empty()) p.record.guard = "allowed: no guard";

  co_return Outcome<void>();
}

// What follows once a call is approved.
base::Task<Outcome<PipelineReply>> Pipeline::perform(Passage& p, Approved<Invocation> approved,
                                                     Progress progress) {
  // 12. Audit, opened: from here on something may happen, so a trace of it must
  //     stand before. The key's record stands first: without it the call could be
  //     made again.
  p.stage = "audit";
  if (p.ticket) {
    auto begun = co_await parts_.outcomes->begin(p.ticket);
    if (!begun) {
      p.ticket.reset();
      co_return not_remembered(begun.error());
    }
    // One that came meanwhile has nothing to end, and would be forgotten.
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      co_return refuse(Code::kCancelled, "cancelled");
    }
  }
  CO_RETURN_IF_ERROR(trail_.open(p.record));

  // 13. Execute, until the deadline.
  p.stage = "execute";
  CO_ASSIGN_OR_RETURN(auto result, co_await execute(p, std::move(approved), std::move(progress)));

  // Nobody was asked about a rehearsal, so what the tool found is not told.
  if (p.call.dry_run) result = {.content = {}, .structured = {}, .is_error = result.is_error};

  // 14. Output limit: before the guards, which need not read what is refused.
  p.stage = "output_limit";
  CO_ASSIGN_OR_RETURN(std::size_t bytes, check_size(p, result));

  // 15. Output rules: what they take out reaches neither the policy engine nor a
  //     filter, which may be on other machines.
  p.stage = "output_rules";
  if (result.input_needed && sees_output()) {
    co_return refuse(Code::kPolicy, "a tool may not ask where answers are filtered");
  }
  Filtered filtered{std::move(result), 0};
  CO_ASSIGN_OR_RETURN(filtered, co_await inspect(p, parts_.rules.get(), std::move(filtered)));

  // 16. Output policy: the engine's word on the answer, and the places that it
  //     wanted hidden before there was one.
  p.stage = "output_policy";
  CO_ASSIGN_OR_RETURN(filtered, co_await inspect(p, parts_.policy.get(), std::move(filtered)));
  filtered.redactions += redact_at(filtered.result, p.hidden.result);

  // 17. Output filters: nothing reaches the caller that they did not see.
  p.stage = "output_filter";
  if (!parts_.filters.empty()) {
    CO_ASSIGN_OR_RETURN(filtered, co_await filter(p, std::move(filtered)));
  }

  // 18. Output schema, and the limit once more: the answer may have changed.
  p.stage = "output_schema";
  if (sees_output()) {
    CO_ASSIGN_OR_RETURN(bytes, check_size(p, filtered.result));
  }
  if (!p.call.dry_run) CO_RETURN_IF_ERROR(check_output(filtered.result, *p.entry));

  PipelineReply reply;
  reply.usage = {std::chrono::duration_cast<std::chrono::milliseconds>(p.timing.tool), bytes};
  reply.redactions = filtered.redactions;
  reply.result = std::move(filtered.result);
  co_return reply;
}

// What is over the limit, or cannot be sent, is refused here, so that the
// record tells what the caller gets.
Outcome<std::size_t> Pipeline::check_size(const Passage& p, const ToolResult& result) const {
  auto bytes = measure(result, p.entry->capability, options_.output_bytes);
  if (!bytes) return bytes;
  auto fits = check_wire_size(result, p.call.form, *bytes, options_.message_bytes);
  if (!fits) return std::move(fits).error();
  return bytes;
}

base::Task<Outcome<PipelineReply>> Pipeline::walk(Passage& p, Progress progress) {
  CO_RETURN_IF_ERROR(co_await check(p));
  CO_ASSIGN_OR_RETURN(auto recalled, recall(p));
  if (recalled) co_return std::move(*recalled);

  // 11. Consent: last of the checks, since no one should be asked about a call
  //     that cannot happen. It alone makes the call an approved one.
  p.stage = "consent";
  CO_ASSIGN_OR_RETURN(auto approved, co_await ask_consent(p));
  co_return co_await perform(p, std::move(approved), std::move(progress));
}

// Around all stages: 19. Audit, sealed, and then the reply.
base::Task<Outcome<PipelineReply>> Pipeline::run(PipelineCall call, Progress progress) {
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto start = steady_clock::now();
  Passage passage;
  passage.record = trail_.begin(call);
  // No filter sees the words of a note.
  if (!parts_.filters.empty()) call.note.reset();
  passage.call = std::move(call);
  auto reply = co_await walk(passage, std::move(progress));

  passage.timing.total = since(start);
  auto& record = passage.record;
  record.timing = passage.timing;
  record.decision = audit::Decision{passage.stage, std::nullopt};
  if (!reply) {
    record.decision->code = reply.error().code;
    if (record.outcome) record.outcome->status = tool::name(reply.error().code);
    log_fault(passage, reply.error());
  } else if (record.outcome) {
    record.outcome->bytes = reply->usage.bytes;
    record.outcome->redactions = reply->redactions;
    record.outcome->status = reply->result.is_error ? "tool_error" : "ok";
    if (reply->result.input_needed) record.outcome->status = "input_needed";
    if (passage.call.dry_run) record.outcome->status = "dry_run";
    metrics_.redacted(reply->redactions);
  }
  passage.did_run = record.outcome.has_value();
  if (passage.did_run) passage.status = record.outcome->status;
  // Arguments that not every guard has seen may hold what one of them would hide.
  if (passage.judged < guards()) record.args.clear();
  if (!reply && !passage.is_authorised) {
    trail_.refuse(record);
  } else if (auto receipt = co_await trail_.seal(std::move(record)); !receipt) {
    log_fault(passage, receipt.error());
    reply = Outcome<PipelineReply>(std::move(receipt).error());
  } else {
    passage.receipt = *receipt;
    if (reply && reply->repeats.empty()) reply->receipt = std::move(*receipt);
  }
  if (passage.ticket) co_await remember(passage, reply);
  metrics_.ended(reply ? std::nullopt : std::optional(reply.error().code), since(start));
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return reply;
}

// The record has the last word of every guard: "allowed; rules denied: ...".
void Pipeline::note(Passage& p, Verdict verdict, const std::string& reason) {
  std::string& text = p.record.guard;
  if (!text.empty()) text += "; ";
  if (p.stage != "guard") text += std::string(p.stage) + ' ';
  text += name(verdict);
  if (!reason.empty()) text += ": " + reason;
}

base::Task<Outcome<void>> Pipeline::judge(Passage& p, GuardStage* guard) {
  if (!guard) co_return Outcome<void>();
  auto decision = co_await within(steady_clock::now() + options_.guard_time,
                                  judged(*guard, *p.invocation, p.entry->capability));
  if (!decision && decision.error().code == Code::kCancelled) co_return decision.error();
  GuardDecision verdict = decision ? std::move(*decision) : GuardDecision{};
  if (!decision) verdict.reason = decision.error().message + " " + decision.error().detail;
  if (decision) ++p.judged;
  note(p, verdict.verdict, verdict.reason);
  if (verdict.consent == ConsentDemand::kDemanded) p.demand = verdict.consent;
  std::ranges::move(verdict.redact.result, std::back_inserter(p.hidden.result));
  if (!verdict.redact.arguments.empty()) {
    std::ranges::move(verdict.redact.arguments, std::back_inserter(p.hidden.arguments));
    AuditTrail::hide(p.record, *p.invocation, p.hidden.arguments);
  }
  if (verdict.verdict == Verdict::kAllowed) co_return Outcome<void>();
  co_return refusal(verdict.verdict, verdict.reason, verdict.told);
}

base::Task<Outcome<Filtered>> Pipeline::inspect(Passage& p, GuardStage* guard, Filtered all) {
  if (!guard) co_return all;
  auto decision =
      co_await within(steady_clock::now() + options_.guard_time,
                      inspected(*guard, *p.invocation, p.entry->capability, std::move(all.result)));
  if (!decision && decision.error().code == Code::kCancelled) co_return decision.error();
  OutputDecision verdict = decision ? std::move(*decision) : OutputDecision{};
  if (!decision) verdict.reason = decision.error().message + " " + decision.error().detail;
  bool is_allowed = verdict.verdict == Verdict::kAllowed;
  if (!is_allowed || !verdict.reason.empty()) note(p, verdict.verdict, verdict.reason);
  if (!is_allowed) {
    Fault fault = refusal(verdict.verdict, verdict.reason, verdict.told);
    // E_BUSY would promise that nothing was done.
    if (fault.code == Code::kBusy) fault.code = Code::kUpstream;
    co_return fault;
  }
  all.result = std::move(verdict.result);
  all.redactions += verdict.redactions;
  co_return all;
}

base::Task<Outcome<Approved<Invocation>>> Pipeline::ask_consent(Passage& p) {
  p.time_limit = time_for(p.call.deadline, p.entry->capability, options_.deadline,
                          p.call.most.value_or(options_.max_deadline));
  auto answer =
      consent_.without_asking(*p.invocation, *p.entry, p.demand, p.time_limit, p.call.asker.get());
  if (!answer) {
    answer = co_await consent_.ask(std::move(*p.invocation), p.entry, p.time_limit, p.call.asker);
  }
  p.record.consent = std::move(answer->note);
  if (!answer->hook_fault.empty()) {
    parts_.log.for_request(p.call.log_id)
        .warning("consent hook gave no answer",
                 {{"tool", p.call.tool}, {"detail", answer->hook_fault}});
  }
  p.timing.consent = answer->waited;
  co_return std::move(answer->call);
}

base::Task<Outcome<ToolResult>> Pipeline::execute(Passage& p, Approved<Invocation> call,
                                                  Progress progress) {
  // A foreign tool knows nothing of dry runs: what it would do, it would do. Another node
  // says so of its own.
  if (call->dry_run && p.entry->capability.origin == OriginKind::kBridge) {
    co_return refuse(Code::kShape, "dry_run: this tool has none");
  }
  if (sees_output()) p.invocation = *call;
  auto deadline = call->context.deadline;
  // Its own calls wait for one another before they keep out those of others.
  std::optional<base::FairPlaces::Held> place;
  if (p.entry->places) {
    auto held = co_await p.entry->places->enter(key_of(*call->principal), deadline);
    if (!held) co_return no_place(held.error());
    place.emplace(std::move(*held));
  }
  p.record.outcome.emplace();
  auto start = steady_clock::now();
  // No guard or filter sees the words of a progress note: they stay here, its numbers go.
  if (sees_output() && progress) {
    progress = [inner = std::move(progress)](double done, std::optional<double> total,
                                             std::string) { inner(done, total, {}); };
  }
  auto result =
      co_await within(deadline, p.entry->connector->invoke(std::move(call), std::move(progress)));
  p.timing.tool = since(start);
  metrics_.ran(p.timing.tool);
  p.did_nothing = !result && result.error().code == Code::kBusy;
  co_return result;
}

base::Task<Outcome<Filtered>> Pipeline::filter(Passage& p, Filtered all) {
  for (const auto& one : parts_.filters) {
    auto deadline = steady_clock::now() + options_.hook_time;
    p.invocation->context.deadline = deadline;
    auto filtered = co_await within(deadline, one->filter(*p.invocation, std::move(all.result)));
    if (!filtered) co_return std::move(filtered).error();
    all.result = std::move(filtered->result);
    all.redactions += filtered->redactions;
  }
  co_return all;
}

Outcome<base::json::Object> Pipeline::capability(const Principal& principal, Mode mode,
                                                 std::string_view tool) const {
  auto id = ToolId::parse(tool);
  if (!id) return to_fault(std::move(id).error().with_context("tool"));
  auto entry = parts_.registry.find(*id);
  if (!entry || !principal.scopes.allows_describe(*id)) {
    return no_tool(parts_.registry, *id, principal);
  }
  if (entry->state != PinState::kPinned || entry->capability.min_mode > mode) {
    return refuse(Code::kTool, "no such tool");
  }
  return entry->record;
}

// Refusals are in the audit; the log is for what an operator must mend.
void Pipeline::log_fault(const Passage& passage, const Fault& fault) const {
  if (fault.code != Code::kInternal && fault.code != Code::kUpstream && fault.code != Code::kBusy) {
    return;
  }
  parts_.log.for_request(passage.call.log_id)
      .warning(
          "call failed",
          {{"code", tool::name(fault.code)}, {"stage", passage.stage}, {"detail", fault.detail}});
}

}  // namespace tool::pipeline
