#pragma once

// The tools of this process for MCP clients: a call is the same call as one of
// the native protocol, through the same pipeline and into the same trail.

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/mcp_ingress/tool_backend.h"
#include "toolserver/pipeline/pipeline.h"
#include "toolserver/workflow/flows.h"

namespace tool::mcp_ingress {

/// The tool of "tool:invoke:<id>". Nothing: another scope, or no id.
[[nodiscard]] std::optional<ToolId> tool_of_scope(std::string_view scope);

/// Safe to use from any event loop.
class PipelineTools final : public ToolBackend {
 public:
  /// All outlive it; without `flows` no call is recorded. Tools of the namespace `bare`, which may
  /// be empty for none, have their names without it.
  PipelineTools(pipeline::Pipeline& pipeline, audit::AuditLog& audit, const base::Clock& clock,
                base::Random& random, Mode mode, std::string bare, workflow::Flows* flows = nullptr)
      : pipeline_(pipeline),
        audit_(audit),
        clock_(clock),
        random_(random),
        mode_(mode),
        bare_(std::move(bare)),
        flows_(flows) {}

  [[nodiscard]] Outcome<void> admit(const Call& call) override {
    return pipeline_.take(*call.caller);
  }
  [[nodiscard]] base::Task<Outcome<ToolList>> list(std::shared_ptr<const Call> call) override;
  [[nodiscard]] std::vector<base::json::Object> offered(const Call& call,
                                                        OfferList list) const override;
  [[nodiscard]] base::Task<Outcome<ToolResult>> call(std::shared_ptr<const Call> call,
                                                     ToolCall tool) override;
  [[nodiscard]] Outcome<void> record(const Call& call, std::string_view what,
                                     std::string_view name) override;
  [[nodiscard]] bool tells_changes() const override { return true; }
  [[nodiscard]] base::Task<std::string> scope_of(std::shared_ptr<const Call> call, std::string name,
                                                 base::json::Object arguments) override;
  /// Of workflows of the operator.
  [[nodiscard]] bool is_recorded(const std::string& scope) const override;
  [[nodiscard]] std::chrono::milliseconds record_life() const override {
    return flows_ == nullptr ? std::chrono::seconds(0) : flows_->retention();
  }
  [[nodiscard]] base::Task<Outcome<std::optional<KeptCall>>> find_call(
      std::shared_ptr<const Call> call, std::string id) override;
  [[nodiscard]] base::Task<Outcome<TakenBack>> take_back(std::shared_ptr<const Call> call,
                                                         std::string id) override;

 private:
  // The tools of a list as MCP writes them. Kept from one request to the next: a
  // client that begins asks for all of them, and they change seldom.
  struct WrittenList {
    std::shared_ptr<const pipeline::Listing> of;
    std::vector<std::string> tools;
  };
  static constexpr std::size_t kWrittenLists = 4;

  [[nodiscard]] std::string id_of(const std::string& name) const;
  [[nodiscard]] std::string resource_id(const Principal& caller, const std::string& uri) const;
  [[nodiscard]] workflow::FlowCaller flow_caller(const Call& call) const;
  [[nodiscard]] std::optional<KeptCall> kept_run(const Principal& caller,
                                                 workflow::FoundRun run) const;
  [[nodiscard]] std::shared_ptr<const WrittenList> written(
      std::shared_ptr<const pipeline::Listing> listing);

  pipeline::Pipeline& pipeline_;
  audit::AuditLog& audit_;
  const base::Clock& clock_;
  base::Random& random_;
  const Mode mode_;
  const std::string bare_;
  workflow::Flows* const flows_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const WrittenList>> written_;  // The last used first. Under mutex_.
};

}  // namespace tool::mcp_ingress
