#pragma once

// Every call leaves its record, whatever became of it: the last stage around
// all others.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/metrics/registry.h"
#include "base/runtime/task.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/model/fault.h"
#include "toolserver/pipeline/call.h"
#include "toolserver/pipeline/registry.h"

namespace tool::pipeline {

enum class AuditFailure : std::uint8_t {
  kBlock,     ///< What cannot be recorded does not happen.
  kContinue,  ///< It does, and is counted.
};
enum class RawArguments : std::uint8_t { kLeftOut, kRecorded };

struct TrailOptions {
  AuditFailure on_failure = AuditFailure::kBlock;
  RawArguments arguments = RawArguments::kLeftOut;
};

/// Safe to use from any event loop.
class AuditTrail {
 public:
  /// All outlive the trail.
  AuditTrail(audit::AuditLog& log, TrailOptions options, const base::Clock& clock,
             base::metrics::Registry& metrics);

  /// A record with what is known of a call before any check.
  [[nodiscard]] audit::CallRecord begin(const PipelineCall& call) const;
  /// Adds what the shape stage found.
  void describe(audit::CallRecord& record, const ToolEntry& entry, const Invocation& call) const;

  /// Takes places out of the arguments that are to be recorded, if they are.
  static void hide(audit::CallRecord& record, const Invocation& call,
                   const std::vector<std::string>& pointers);

  /// Writes the line that must stand before the tool runs, and notes it in
  /// `record`. Errors: E_BUSY  it cannot be written; nothing was done.
  [[nodiscard]] Outcome<void> open(audit::CallRecord& record);

  /// Records a call that was refused before it was authorised, see
  /// audit::AuditLog::refuse().
  void refuse(const audit::CallRecord& record) { log_.refuse(record); }

  /// Writes the end of the record. A receipt with seq 0 says that it could not
  /// be written and that the options let the call go on.
  /// Errors: E_BUSY  it cannot be written, and the call was refused before the
  /// tool ran; E_INTERNAL  it cannot be written, and the tool did run.
  [[nodiscard]] base::Task<Outcome<audit::AuditReceipt>> seal(audit::CallRecord record);

 private:
  audit::AuditLog& log_;
  const TrailOptions options_;
  const base::Clock& clock_;
  base::metrics::Counter lost_;
};

}  // namespace tool::pipeline
