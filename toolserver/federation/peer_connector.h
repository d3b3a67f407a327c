#pragma once

// The tools of one other node, as they were when its list was read; a new list
// makes a new connector. Calls come from every event loop and go to the peer's
// own.

#include <map>
#include <memory>
#include <vector>

#include "toolserver/connectors/connector.h"
#include "toolserver/federation/peer.h"

namespace tool::federation {

class PeerConnector final : public connectors::Connector {
 public:
  /// Calls to one node that run at once: under what a session may have in flight.
  static constexpr std::size_t kAtOnce = 32;

  PeerConnector(std::shared_ptr<Peer> peer, std::vector<Capability> tools);

  [[nodiscard]] std::vector<Capability> capabilities() const override;
  [[nodiscard]] std::size_t most_at_once() const override { return kAtOnce; }
  [[nodiscard]] bool keeps_keys() const override { return true; }
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override;

 private:
  std::shared_ptr<Peer> peer_;
  std::map<ToolId, Capability> tools_;
};

}  // namespace tool::federation
