#pragma once

// The other nodes of a federation, on a thread of their own: what they make us
// read is read there, and no caller's event loop waits for it.

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/workers.h"
#include "toolserver/federation/peer.h"

namespace tool::federation {

/// Thread-safe.
class Peers {
 public:
  explicit Peers(PeerParts parts) : parts_(std::move(parts)), thread_(1) {}
  /// As stop().
  ~Peers();

  /// Begins to connect a node that is registered with the keys, and does not wait
  /// for it. After stop() nothing.
  void connect(std::string node_id, client::ClientOptions options);

  /// Ends all links. Blocks. No call may run any more.
  void stop();

 private:
  const PeerParts parts_;
  base::Workers thread_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::vector<std::shared_ptr<Peer>> peers_;
  std::vector<std::future<void>> running_;
};

}  // namespace tool::federation
