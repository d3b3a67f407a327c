#pragma once

// The operations of section 9, one function each: read the payload, ask the
// pipeline, write the answer. What may be done is decided in the pipeline; a
// scope that is not about a tool is checked here, by one table.
// Source: docs/wire-3.0.md, section 9.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/federation/proof/proof_memory.h"
#include "toolserver/pipeline/pipeline.h"
#include "toolserver/transport/open_sessions.h"
#include "toolserver/transport/operation.h"
#include "toolserver/transport/tool_payloads.h"

namespace tool::transport {

/// The scope that an operation needs of its caller; empty for those whose tool
/// decides. Every operation that a session may ask for has an entry.
[[nodiscard]] std::string_view scope_of(session::Op op);

/// What a node of a federation does for the others; all outlive it.
struct FederationParts {
  std::shared_ptr<const federation::NodeKeys> keys;  ///< Null: there are no others.
  federation::ProofMemory* memory = nullptr;
  std::uint32_t max_hops = 0;
  /// Whether a caller of that name is refused here.
  std::function<bool(const std::string& subject)> is_denied;
  /// Another node is connected here, and has proved that it is that one; from any loop.
  std::function<void(const std::string& node_id)> came = {};
  std::function<bool()> is_draining = {};  ///< Nobody shall be kept waiting any more.
};

class ToolOperations final : public Operations {
 public:
  /// All outlive it. `flows` answers the operations of workflows; null: there are none.
  ToolOperations(pipeline::Pipeline& pipeline, audit::AuditLog& audit, OpenSessions& sessions,
                 ConsentMemory& agreed, base::Random& random, const base::Clock& clock, Mode mode,
                 FederationParts federation, Operations* flows = nullptr)
      : pipeline_(pipeline),
        audit_(audit),
        sessions_(sessions),
        agreed_(agreed),
        random_(random),
        clock_(clock),
        mode_(mode),
        federation_(std::move(federation)),
        flows_(flows) {}

  [[nodiscard]] base::Task<Answer> run(base::RequestContext context,
                                       std::shared_ptr<const Caller> caller, session::Op op,
                                       Envelope request, EventSink& events) override;

 private:
  [[nodiscard]] Answer list(const Caller& caller, const base::json::Object& payload) const;
  [[nodiscard]] std::expected<ToolPage, Refusal> page_of(const Caller& caller,
                                                         const base::json::Object& payload) const;
  [[nodiscard]] Answer get(const Caller& caller, const base::json::Object& payload) const;
  [[nodiscard]] Answer outcome(const Caller& caller, const base::json::Object& payload) const;
  [[nodiscard]] Answer audit_head() const;
  [[nodiscard]] Answer list_sessions() const;
  [[nodiscard]] Answer close_sessions(const Caller& caller, const base::json::Object& payload);
  [[nodiscard]] Answer list_consents() const;
  [[nodiscard]] Answer revoke_consents(const Caller& caller, const base::json::Object& payload);
  [[nodiscard]] base::Task<Answer> invoke(std::shared_ptr<const Caller> caller, Envelope request,
                                          EventSink& events);

  [[nodiscard]] base::Task<Answer> list_for_node(std::shared_ptr<const Caller> caller,
                                                 base::json::Object payload) const;
  [[nodiscard]] base::Task<Answer> forward(std::shared_ptr<const Caller> caller, Envelope request,
                                           EventSink& events);
  [[nodiscard]] pipeline::PipelineCall call_of(const Caller& caller, Envelope& request) const;

  pipeline::Pipeline& pipeline_;
  audit::AuditLog& audit_;
  OpenSessions& sessions_;
  ConsentMemory& agreed_;
  base::Random& random_;
  const base::Clock& clock_;
  const Mode mode_;
  const FederationParts federation_;
  Operations* const flows_;
};

}  // namespace tool::transport
