#pragma once

// The tools of a service that this process is a client of, for an MCP client of
// this process: each call passes the gate of the service, with the credentials
// of this configuration.

#include "toolserver/client/secure_client.h"
#include "toolserver/mcp_ingress/tool_backend.h"

namespace tool::app {

/// Belongs to the loop of the client, which outlives it.
class ClientTools final : public mcp_ingress::ToolBackend {
 public:
  explicit ClientTools(client::SecureClient& client) : client_(client) {}

  /// The service counts each request that it gets.
  [[nodiscard]] Outcome<void> admit(const mcp_ingress::Call&) override { return {}; }
  [[nodiscard]] base::Task<Outcome<mcp_ingress::ToolList>> list(
      std::shared_ptr<const mcp_ingress::Call> call) override;
  [[nodiscard]] base::Task<Outcome<ToolResult>> call(std::shared_ptr<const mcp_ingress::Call> call,
                                                     mcp_ingress::ToolCall tool) override;
  /// There is nothing but calls of tools, which the service records.
  [[nodiscard]] Outcome<void> record(const mcp_ingress::Call&, std::string_view,
                                     std::string_view) override {
    return {};
  }
  [[nodiscard]] bool tells_changes() const override { return false; }
  [[nodiscard]] base::Task<std::string> scope_of(std::shared_ptr<const mcp_ingress::Call> call,
                                                 std::string name,
                                                 base::json::Object arguments) override;

 private:
  client::SecureClient& client_;
  std::shared_ptr<const client::CapabilityList> known_;  ///< Null: not asked yet.
};

}  // namespace tool::app
