#pragma once

// A call on its way through the pipeline. Of the pipeline's own files.

#include <optional>
#include <string>
#include <string_view>

#include "toolserver/pipeline/pipeline.h"

namespace tool::pipeline {

struct Pipeline::Passage {
  PipelineCall call;
  audit::CallRecord record;
  std::string_view stage;
  bool is_authorised = false;  // From there on its record is never summed.
  std::optional<RateStage::Slot> slot;
  outcomes::OutcomeStore::Ticket ticket;  // Null: nobody will ask for its outcome.
  std::shared_ptr<const ToolEntry> entry;
  std::optional<Invocation> invocation;
  ConsentDemand demand = ConsentDemand::kByRule;
  bool did_run = false;      // Whether the tool was begun, and as what it ended.
  bool did_nothing = false;  // It was begun, and had no room.
  std::string status;
  audit::AuditReceipt receipt;
  Redactions hidden;       // What the guards want nobody to see.
  std::size_t judged = 0;  // Guards that have said so.
  audit::Timing timing;
  std::chrono::milliseconds time_limit{};
};

}  // namespace tool::pipeline
