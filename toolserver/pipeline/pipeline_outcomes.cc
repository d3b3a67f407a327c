// Of the pipeline: what it keeps of a call that ran, and what it says when the call comes again.

#include <utility>
#include <variant>

#include "toolserver/pipeline/checks.h"
#include "toolserver/pipeline/passage.h"

namespace tool::pipeline {
namespace {

// What a key stands for, as the answer to a call that has it again.
Outcome<PipelineReply> reply_of(outcomes::Repeat repeat) {
  if (repeat.state == outcomes::State::kRunning) {
    Fault fault = refuse(Code::kBusy, "p.idem: the call with this key still runs");
    fault.retry_after = std::chrono::milliseconds(1'000);
    return fault;
  }
  if (!repeat.ended) {
    return refuse(Code::kInternal,
                  "p.idem: the service ended while the call with this key ran; whether it did its "
                  "work is not known");
  }
  if (repeat.ended->fault) return std::move(*repeat.ended->fault);
  if (!repeat.ended->answer) {
    return refuse(Code::kLimit,
                  "p.idem: the call with this key ran, and its answer was too large to be kept");
  }
  auto& answer = *repeat.ended->answer;
  PipelineReply reply;
  reply.result = std::move(answer.result);
  reply.usage = {answer.time, answer.bytes};
  reply.redactions = answer.redactions;
  reply.receipt = std::move(repeat.ended->receipt);
  reply.repeats = std::move(repeat.request_id);
  return reply;
}

outcomes::Ended ended_as(std::string status, audit::AuditReceipt receipt,
                         const Outcome<PipelineReply>& reply) {
  outcomes::Ended ended;
  ended.status = std::move(status);
  ended.receipt = std::move(receipt);
  if (!reply) {
    ended.fault = reply.error();
    return ended;
  }
  ended.answer =
      outcomes::Answer{reply->result, reply->usage.time, reply->usage.bytes, reply->redactions};
  return ended;
}

}  // namespace

// 10. Idempotency: whoever repeats a call must be allowed it still, but nobody is
//     asked again about what has happened.
Outcome<std::optional<PipelineReply>> Pipeline::recall(Passage& p) {
  p.stage = "idempotency";
  if (p.call.dry_run || (p.call.idem.key.empty() && parts_.outcomes == nullptr))
    return std::nullopt;
  // What is only read is read again.
  if (p.call.offer != Offer::kTool) return std::nullopt;
  if (parts_.outcomes == nullptr) return refuse(Code::kShape, "p.idem: no keys are kept here");
  const Invocation& call = *p.invocation;
  using outcomes::Unknown;
  bool keeps_keys = p.entry->connector->keeps_keys();
  auto claimed = parts_.outcomes->claim(
      {key_of(*call.principal), call.tool.text(), call.request_id, p.call.idem.key, call.args_hash},
      {keeps_keys ? Unknown::kAskedAgain : Unknown::kStays, p.call.idem.age});
  if (!claimed) return std::move(claimed).error();
  if (auto* ticket = std::get_if<outcomes::OutcomeStore::Ticket>(&*claimed)) {
    p.ticket = std::move(*ticket);
    p.invocation->idem.age = parts_.outcomes->age(p.ticket);
    return std::nullopt;
  }
  auto& repeat = std::get<outcomes::Repeat>(*claimed);
  p.record.repeats = repeat.request_id;
  auto reply = reply_of(std::move(repeat));
  if (!reply) return std::move(reply).error();
  if (auto fits =
          check_wire_size(reply->result, p.call.form, reply->usage.bytes, options_.message_bytes);
      !fits) {
    return std::move(fits).error();
  }
  return std::optional(std::move(*reply));
}

// A question is no end: the call is made again with its answer.
base::Task<void> Pipeline::remember(Passage& p, const Outcome<PipelineReply>& reply) {
  auto& store = *parts_.outcomes;
  base::Status kept;
  // The node that has the tool may still be asked, and knows better.
  bool is_open = !reply && !p.call.idem.key.empty() && p.entry->connector->keeps_keys() &&
                 (reply.error().code == Code::kInternal || reply.error().code == Code::kCancelled);
  if (!p.did_run || p.did_nothing || (reply && reply->result.input_needed)) {
    kept = co_await store.release(p.ticket);
  } else if (is_open) {
    store.leave_open(p.ticket);
  } else {
    outcomes::Ended ended = ended_as(p.status, p.receipt, reply);
    kept = co_await store.finish(p.ticket, std::move(ended));
  }
  if (kept) co_return;
  parts_.log.for_request(p.call.log_id)
      .error("the outcome of a call is not kept",
             {{"tool", p.call.tool},
              {"detail", kept.error().message() + " " + kept.error().detail()}});
}

bool Pipeline::keeps_keys(const ToolId& tool) const {
  auto entry = parts_.registry.find(tool);
  return entry ? entry->connector->keeps_keys() : parts_.registry.expects(tool);
}

outcomes::Seen Pipeline::outcome(const Principal& principal, const std::string& request_id) const {
  if (parts_.outcomes == nullptr) return {.since = parts_.clock.now()};
  auto seen = parts_.outcomes->look_up(key_of(principal), request_id);
  if (!seen.ended || !seen.ended->answer) return seen;
  auto id = ToolId::parse(seen.tool);
  const auto& answer = *seen.ended->answer;
  bool is_shown =
      id && principal.scopes.allows_invoke(*id) &&
      // Another credential of the same caller may have made it, of arguments that
      // this one does not reach.
      !principal.details.names(*id) &&
      check_wire_size(answer.result, ContentForm::kWhole, answer.bytes, options_.message_bytes);
  if (!is_shown) seen.ended->answer.reset();
  return seen;
}

}  // namespace tool::pipeline
