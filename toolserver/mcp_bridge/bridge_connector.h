#pragma once

// What one foreign server offers, as it was when its lists were read; a new
// list makes a new connector. Calls come from every event loop. They stay there
// where the server can be asked so, and else go to the bridge's own.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "toolserver/connectors/connector.h"
#include "toolserver/mcp_bridge/bridge.h"

namespace tool::bridge {

class BridgeConnector final : public connectors::Connector {
 public:
  /// Calls of one server that run at once.
  static constexpr std::size_t kAtOnce = 16;

  BridgeConnector(std::shared_ptr<Bridge> bridge, std::vector<ForeignTool> tools);

  [[nodiscard]] std::vector<Capability> capabilities() const override;
  [[nodiscard]] std::size_t most_at_once() const override { return kAtOnce; }
  [[nodiscard]] Outcome<void> allows(const Invocation& call) const override;
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override;

 private:
  [[nodiscard]] base::Task<Outcome<ToolResult>> ask(ServerSession::Call call, Progress progress);
  [[nodiscard]] base::Task<Outcome<ToolResult>> ask(ServerSession::Fetch fetch);
  [[nodiscard]] base::Task<Outcome<ToolResult>> fetch(Approved<Invocation> call,
                                                      const ForeignTool& offer);
  std::shared_ptr<Bridge> bridge_;
  std::map<ToolId, ForeignTool> tools_;
};

}  // namespace tool::bridge
