#pragma once

// flow.run, flow.get and flow.cancel: their payloads as values, and back.
// Source: docs/wire-3.0.md, section 19.

#include <memory>

#include "toolserver/transport/operation.h"
#include "toolserver/workflow/flows.h"

namespace tool::workflow {

/// Errors: E_SHAPE  the message begins with "p." and the member.
[[nodiscard]] Outcome<FlowRequest> read_flow_run(base::json::Object payload);

/// Safe to call from any loop. That the caller has the scope flow:run is checked
/// before.
class FlowOperations final : public transport::Operations {
 public:
  /// `flows` outlives it.
  FlowOperations(Flows& flows, Mode mode) : flows_(flows), mode_(mode) {}
  [[nodiscard]] base::Task<transport::Answer> run(base::RequestContext context,
                                                  std::shared_ptr<const transport::Caller> caller,
                                                  session::Op op, Envelope request,
                                                  transport::EventSink& events) override;

 private:
  Flows& flows_;
  const Mode mode_;
};

}  // namespace tool::workflow
