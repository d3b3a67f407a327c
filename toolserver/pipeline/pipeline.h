#pragma once

// The only road to a tool. Whatever transport a call came in by, it passes the
// stages that pipeline.cc lists, in that order, and leaves an audit record.
// Source: docs/wire-3.0.md, "The pipeline".

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/runtime/task.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/model/fault.h"
#include "toolserver/outcomes/outcome_store.h"
#include "toolserver/pipeline/call.h"
#include "toolserver/pipeline/consent.h"
#include "toolserver/pipeline/guard.h"
#include "toolserver/pipeline/metrics.h"
#include "toolserver/pipeline/output_filter.h"
#include "toolserver/pipeline/rate.h"
#include "toolserver/pipeline/registry.h"
#include "toolserver/pipeline/trail.h"

namespace tool::pipeline {

struct PipelineOptions {
  RateLimits rate;
  ConsentOptions consent;
  TrailOptions trail;
  std::chrono::milliseconds deadline{30'000};  ///< Of a call that names none.
  std::chrono::milliseconds max_deadline{300'000};
  std::chrono::milliseconds hook_time{10'000};   ///< For a filter to answer.
  std::chrono::milliseconds guard_time{10'000};  ///< For each guard.
  std::size_t output_bytes = 4 << 20;
  std::size_t message_bytes = 4 << 20;  ///< Of an answer as it is sent.
};

/// What a pipeline stands on; all outlive it. The guards and `consent` may be
/// null: then nothing is judged, which the audit says, and what needs consent is
/// refused.
struct PipelineParts {
  ToolRegistry& registry;
  audit::AuditLog& audit;
  const base::Clock& clock;
  base::metrics::Registry& metrics;
  base::log::Logger log;
  std::shared_ptr<GuardStage> guard;   ///< Of the embedding program.
  std::shared_ptr<GuardStage> policy;  ///< The policy engine.
  std::shared_ptr<GuardStage> rules;   ///< The local patterns.
  std::shared_ptr<ConsentHook> consent;
  std::shared_ptr<ConsentMemory> agreed = nullptr;     ///< Null: one of its own.
  std::vector<std::shared_ptr<OutputFilter>> filters;  ///< In this order.
  /// Null: no call is remembered, and one with a key is refused.
  outcomes::OutcomeStore* outcomes = nullptr;
};

/// One for the service; safe to use from any event loop.
class Pipeline {
 public:
  Pipeline(PipelineOptions options, PipelineParts parts);

  /// Takes one call all the way. A cancelled caller gets E_CANCELLED as a
  /// value, after the tool has stopped and the record is written.
  /// Errors: those of the stages in pipeline.cc, each recorded with its code.
  [[nodiscard]] base::Task<Outcome<PipelineReply>> run(PipelineCall call, Progress progress);

  /// For the requests that are no calls of a tool, and for every refusal of one
  /// who is known: see RateStage::take() and tolerates().
  [[nodiscard]] Outcome<void> take(const Principal& principal) {
    return rate_.take(principal, std::chrono::steady_clock::now());
  }
  [[nodiscard]] bool tolerates(const Principal& principal, Code code) {
    return rate_.tolerates(principal, code, std::chrono::steady_clock::now());
  }

  /// For tool.outcome: what became of a call of `principal`. Its answer is there
  /// only while the principal may invoke the tool.
  [[nodiscard]] outcomes::Seen outcome(const Principal& principal,
                                       const std::string& request_id) const;

  /// Whether the tool keeps idempotency keys where it is: then a call of it whose end
  /// is not known here may be made again under its key.
  [[nodiscard]] bool keeps_keys(const ToolId& tool) const;

  /// For cap.list. See ToolRegistry::capabilities_for().
  [[nodiscard]] std::shared_ptr<const Listing> capabilities_for(const Principal& principal,
                                                                Mode mode,
                                                                Offer offer = Offer::kTool) const {
    return parts_.registry.capabilities_for(principal, mode, offer);
  }
  /// Grows with every change of the tools, and a wait for the next one.
  [[nodiscard]] std::uint64_t tools_version() const { return parts_.registry.version(); }
  [[nodiscard]] base::Task<void> await_tools(std::uint64_t version, base::Deadline until) const {
    return parts_.registry.await_change(version, until);
  }
  /// For cap.get. Errors: E_SHAPE, E_TOOL  as for a call of it.
  [[nodiscard]] Outcome<base::json::Object> capability(const Principal& principal, Mode mode,
                                                       std::string_view tool) const;

 private:
  struct Passage;  // What is known of one call on its way.

  base::Task<Outcome<PipelineReply>> walk(Passage& passage, Progress progress);
  base::Task<Outcome<void>> check(Passage& passage);
  Outcome<std::optional<PipelineReply>> recall(Passage& passage);
  base::Task<void> remember(Passage& passage, const Outcome<PipelineReply>& reply);
  base::Task<Outcome<PipelineReply>> perform(Passage& passage, Approved<Invocation> approved,
                                             Progress progress);
  base::Task<Outcome<void>> judge(Passage& passage, GuardStage* guard);
  base::Task<Outcome<Filtered>> inspect(Passage& passage, GuardStage* guard, Filtered all);
  static void note(Passage& passage, Verdict verdict, const std::string& reason);
  base::Task<Outcome<Approved<Invocation>>> ask_consent(Passage& passage);
  base::Task<Outcome<ToolResult>> execute(Passage& passage, Approved<Invocation> call,
                                          Progress progress);
  [[nodiscard]] Outcome<std::size_t> check_size(const Passage& passage,
                                                const ToolResult& result) const;
  base::Task<Outcome<Filtered>> filter(Passage& passage, Filtered all);
  [[nodiscard]] std::size_t guards() const {
    return (parts_.guard ? 1U : 0U) + (parts_.policy ? 1U : 0U) + (parts_.rules ? 1U : 0U);
  }
  // Whether anybody looks at an answer, and may change it.
  [[nodiscard]] bool sees_output() const {
    return parts_.policy || parts_.rules || !parts_.filters.empty();
  }
  void log_fault(const Passage& passage, const Fault& fault) const;

  const PipelineOptions options_;
  PipelineParts parts_;
  RateStage rate_;
  ConsentStage consent_;
  AuditTrail trail_;
  CallMetrics metrics_;
};

}  // namespace tool::pipeline
