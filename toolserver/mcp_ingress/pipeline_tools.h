#pragma once

// The tools of this process for MCP clients: a call is the same call as one of
// the native protocol, through the same pipeline and into the same trail.

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/mcp_ingress/tool_backend.h"
#include "toolserver/pipeline/pipeline.h"

namespace tool::mcp_ingress {

/// Safe to use from any event loop.
class PipelineTools final : public ToolBackend {
 public:
  /// All outlive it. Tools of the namespace `bare`, which may be empty for none,
  /// have their names without it.
  PipelineTools(pipeline::Pipeline& pipeline, audit::AuditLog& audit, const base::Clock& clock,
                base::Random& random, Mode mode, std::string bare)
      : pipeline_(pipeline),
        audit_(audit),
        clock_(clock),
        random_(random),
        mode_(mode),
        bare_(std::move(bare)) {}

  [[nodiscard]] Outcome<void> admit(const Call& call) override {
    return pipeline_.take(*call.caller);
  }
  [[nodiscard]] base::Task<Outcome<ToolList>> list(std::shared_ptr<const Call> call) override;
  [[nodiscard]] base::Task<Outcome<ToolResult>> call(std::shared_ptr<const Call> call,
                                                     ToolCall tool) override;
  [[nodiscard]] Outcome<void> record(const Call& call, std::string_view what,
                                     std::string_view name) override;
  [[nodiscard]] bool tells_changes() const override { return true; }
  [[nodiscard]] base::Task<std::string> scope_of(std::shared_ptr<const Call> call, std::string name,
                                                 base::json::Object arguments) override;

 private:
  // The tools of a list as MCP writes them. Kept from one request to the next: a
  // client that begins asks for all of them, and they change seldom.
  struct WrittenList {
    std::shared_ptr<const pipeline::Listing> of;
    std::vector<std::string> tools;
  };
  static constexpr std::size_t kWrittenLists = 4;

  [[nodiscard]] std::string id_of(const std::string& name) const;
  [[nodiscard]] std::shared_ptr<const WrittenList> written(
      std::shared_ptr<const pipeline::Listing> listing);

  pipeline::Pipeline& pipeline_;
  audit::AuditLog& audit_;
  const base::Clock& clock_;
  base::Random& random_;
  const Mode mode_;
  const std::string bare_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const WrittenList>> written_;  // The last used first. Under mutex_.
};

}  // namespace tool::mcp_ingress
