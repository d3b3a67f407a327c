#pragma once

// Tools that were made one by one: those of the configuration, and those that a
// program brings along. Together they are one connector.

#include <memory>
#include <vector>

#include "toolserver/connectors/connector.h"

namespace tool::connectors {

/// Safe to call from any event loop.
class Tool {
 public:
  virtual ~Tool() = default;
  /// Fixed for the life of the tool.
  [[nodiscard]] virtual const Capability& capability() const = 0;
  /// As Connector::invoke. A dry run makes every check and has no effect.
  [[nodiscard]] virtual base::Task<Outcome<ToolResult>> run(Approved<Invocation> call,
                                                            Progress progress) = 0;
};

class ToolSet final : public Connector {
 public:
  explicit ToolSet(std::vector<std::unique_ptr<Tool>> tools) : tools_(std::move(tools)) {}

  [[nodiscard]] std::vector<Capability> capabilities() const override;
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override;

 private:
  const std::vector<std::unique_ptr<Tool>> tools_;
};

}  // namespace tool::connectors
