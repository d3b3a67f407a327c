#include "toolserver/pipeline/trail.h"

#include <tuple>

#include "base/json/canonical.h"
#include "toolserver/pipeline/redact.h"

namespace tool::pipeline {
namespace {

std::string_view origin_name(OriginKind kind) {
  switch (kind) {
    case OriginKind::kLocal: return "local";
    case OriginKind::kBridge: return "bridge";
    case OriginKind::kPeer: return "peer";
  }
  return "";
}

Fault not_recorded(const base::Error& error) {
  Fault fault = refuse(Code::kBusy, "calls cannot be recorded just now");
  fault.retry_after = std::chrono::milliseconds(1'000);
  fault.detail = error.message() + " " + error.detail();
  return fault;
}

}  // namespace

AuditTrail::AuditTrail(audit::AuditLog& log, TrailOptions options, const base::Clock& clock,
                       base::metrics::Registry& metrics)
    : log_(log),
      options_(options),
      clock_(clock),
      lost_(metrics.counter("securetool_audit_lost_total",
                            "Audit records that could not be written.")) {}

audit::CallRecord AuditTrail::begin(const PipelineCall& call) const {
  audit::CallRecord record;
  record.time = clock_.now();
  record.request_id = call.request_id;
  record.session_id = call.session_id;
  record.subject = call.principal->subject;
  record.issuer = call.principal->issuer;
  record.method = name(call.principal->method);
  record.bound_to = call.principal->bound_to;
  record.tool = call.tool;
  record.peer = call.peer;
  record.trace = call.traceparent;
  record.flow = call.flow;
  record.hop = call.hop;
  if (call.forwarded) {
    for (const auto& node : call.forwarded->way) {
      record.way += record.way.empty() ? node : ' ' + node;
    }
  }
  return record;
}

void AuditTrail::describe(audit::CallRecord& record, const ToolEntry& entry,
                          const Invocation& call) const {
  record.origin = origin_name(entry.capability.origin);
  record.args_mac = log_.arguments_mac(call.args_hash);
  if (options_.arguments == RawArguments::kRecorded) {
    if (auto text = base::json::canonical(call.args)) record.args = std::move(*text);
  }
}

void AuditTrail::hide(audit::CallRecord& record, const Invocation& call,
                      const std::vector<std::string>& pointers) {
  if (record.args.empty()) return;
  record.args.clear();  // What cannot be written anew is left out.
  base::json::Value args(call.args);
  std::ignore = redact_at(args, pointers);
  if (auto text = base::json::canonical(args)) record.args = std::move(*text);
}

Outcome<void> AuditTrail::open(audit::CallRecord& record) {
  auto seq = log_.open_call(record);
  if (seq) {
    record.open_seq = *seq;
    record.args.clear();  // Once is enough.
    return {};
  }
  lost_.add();
  if (options_.on_failure == AuditFailure::kContinue) return {};
  return not_recorded(seq.error());
}

base::Task<Outcome<audit::AuditReceipt>> AuditTrail::seal(audit::CallRecord record) {
  bool did_run = record.outcome.has_value();
  auto receipt = co_await log_.seal(std::move(record));
  if (receipt) co_return std::move(*receipt);
  lost_.add();
  if (options_.on_failure == AuditFailure::kContinue) co_return audit::AuditReceipt{};
  Fault fault = not_recorded(receipt.error());
  if (did_run) {
    // E_BUSY would promise that nothing was done.
    fault = Fault{Code::kInternal, "the call ran, and its end could not be recorded", std::nullopt,
                  std::move(fault.detail)};
  }
  co_return fault;
}

}  // namespace tool::pipeline
