#pragma once

// The operations of section 9, one function each: read the payload, ask the
// pipeline, write the answer. What may be done is decided in the pipeline; a
// scope that is not about a tool is checked here, by one table.
// Source: docs/wire-3.0.md, section 9.

#include "base/core/clock.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/pipeline/pipeline.h"
#include "toolserver/transport/open_sessions.h"
#include "toolserver/transport/operation.h"

namespace tool::transport {

/// The scope that an operation needs of its caller; empty for those whose tool
/// decides. Every operation that a session may ask for has an entry.
[[nodiscard]] std::string_view scope_of(session::Op op);

class ToolOperations final : public Operations {
 public:
  /// All outlive it.
  ToolOperations(pipeline::Pipeline& pipeline, audit::AuditLog& audit, OpenSessions& sessions,
                 base::Random& random, Mode mode)
      : pipeline_(pipeline), audit_(audit), sessions_(sessions), random_(random), mode_(mode) {}

  [[nodiscard]] base::Task<Answer> run(base::RequestContext context,
                                       std::shared_ptr<const Caller> caller, session::Op op,
                                       Envelope request, EventSink& events) override;

 private:
  [[nodiscard]] Answer list(const Caller& caller, const base::json::Object& payload) const;
  [[nodiscard]] Answer get(const Caller& caller, const base::json::Object& payload) const;
  [[nodiscard]] Answer outcome(const Caller& caller, const base::json::Object& payload) const;
  [[nodiscard]] Answer audit_head() const;
  [[nodiscard]] Answer list_sessions() const;
  [[nodiscard]] Answer close_sessions(const Caller& caller, const base::json::Object& payload);
  [[nodiscard]] base::Task<Answer> invoke(std::shared_ptr<const Caller> caller, Envelope request,
                                          EventSink& events);

  pipeline::Pipeline& pipeline_;
  audit::AuditLog& audit_;
  OpenSessions& sessions_;
  base::Random& random_;
  const Mode mode_;
};

}  // namespace tool::transport
