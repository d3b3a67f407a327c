#pragma once

// A tool that does nothing but answer: whoever can call it knows that
// handshake, token, pipeline and audit work, and what they cost.

#include "toolserver/connectors/connector.h"

namespace tool::connectors {

/// Offers echo.say, which answers its argument `text`.
class EchoConnector final : public Connector {
 public:
  [[nodiscard]] std::vector<Capability> capabilities() const override;
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override;
};

}  // namespace tool::connectors
