#pragma once

// The other nodes of a federation, on a thread of their own: what they make us
// read is read there, and no caller's event loop waits for it.

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/workers.h"
#include "toolserver/discovery/found.h"
#include "toolserver/federation/peer.h"

namespace tool::federation {

/// Thread-safe.
class Peers {
 public:
  /// `options` is what the links to all nodes have in common.
  Peers(PeerParts parts, client::ClientOptions options)
      : parts_(std::move(parts)), options_(std::move(options)), thread_(1) {}
  /// As stop().
  ~Peers();

  /// Makes `nodes`, which are registered with the keys, the nodes that are called, by
  /// the ways given. Does not wait for them. A node that is new is connected; one whose
  /// ways have changed keeps a link by a way that is still there; one that is gone is
  /// no longer listed, and its link ends with the last call under way. After stop()
  /// nothing.
  void call(const discovery::Nodes& nodes);

  /// A node is there: where it has no link yet, the next attempt is now.
  void hurry(const std::string& node_id);

  /// Ends all links. Blocks. No call may run any more.
  void stop();

 private:
  struct Running {
    std::shared_ptr<Peer> peer;
    discovery::Nodes::mapped_type ways;
    std::future<void> done;
  };
  void start(const std::string& node_id, const std::vector<discovery::Way>& ways);

  const PeerParts parts_;
  const client::ClientOptions options_;
  base::Workers thread_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::map<std::string, Running, std::less<>> peers_;
  std::vector<Running> leaving_;  // Until their last call has ended.
};

}  // namespace tool::federation
