#pragma once

// Calls of one other node's tools, over the link that stands just now: what is sent and
// how often, what comes back, and what becomes of a call whose link is lost.
// Source: docs/wire-3.0.md, sections 18.2 to 18.4; docs/adr/0139, 0156, 0160.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/runtime/task.h"
#include "toolserver/client/link.h"
#include "toolserver/federation/peer_answer.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::federation {

/// A tool of the other node.
struct FarTool {
  std::string name;              ///< As the node names it.
  std::size_t output_bytes = 0;  ///< Of an answer, as the node lists it.
};

/// What calls stand on; all outlive them.
struct CallParts {
  std::shared_ptr<const NodeKeys> keys;
  const base::Clock& clock;
  base::Random& random;
  std::uint32_t max_hops = 0;
  /// Of an answer, as this node allows it now; on the loop of the calls.
  std::function<std::size_t()> output_bytes;
  /// A call waited in vain: does the node still answer?
  std::function<void()> on_silence;
};

/// Lives on one event loop.
class PeerCalls {
 public:
  /// Of one call, progress and chunks; the link of a node that sends more is ended.
  static constexpr std::int64_t kEvents = 10'000;
  /// How often one call with a key is sent, at most.
  static constexpr unsigned kSends = 32;

  PeerCalls(std::string node_id, CallParts parts, boost::asio::any_io_executor loop);

  /// Calls go by `link` from here on, and those that wait for one are woken. Null: by none,
  /// until there is another.
  void use(std::shared_ptr<client::Link> link);
  /// Null while calls go by none.
  [[nodiscard]] const std::shared_ptr<client::Link>& link() const { return link_; }
  /// There will be no other link.
  void end();

  /// Until the link changes, or `until`. False: the caller went away, the time is over, or
  /// there will be no other link.
  [[nodiscard]] base::Task<bool> await_link(std::chrono::steady_clock::time_point until);

  /// Forwards a call of `tool`, until the deadline of the call. `progress` is called on
  /// this loop; may be empty. Large content comes in chunks, of which no more bytes are
  /// gathered than this node and the tool's record allow.
  /// One with a key whose link is lost waits for the next link and asks there again,
  /// under the same key: the node does it once, and answers what became of it.
  /// Errors: E_BUSY  the node is not connected just now; E_POLICY, E_LIMIT  of
  ///         take_step(); E_LIMIT  too large for the node, or its answer is for this one;
  ///         E_UPSTREAM  no answer, see PeerAnswer; E_INTERNAL  a call with a key of which
  ///         nobody can tell whether it did its work; those of relayed().
  [[nodiscard]] base::Task<Outcome<ToolResult>> call(Invocation call, FarTool tool,
                                                     Progress progress);

 private:
  struct Forwarding;
  enum class Send : std::uint8_t { kFirst, kAgain };
  [[nodiscard]] Outcome<client::Link::Sending> prepare(const client::Link& link, Forwarding& what,
                                                       Send which) const;
  base::Task<Outcome<ToolResult>> call_once(Forwarding what);
  base::Task<Outcome<ToolResult>> call_with_key(Forwarding what);
  void look_after_silence(const Fault& fault) const;
  [[nodiscard]] Fault not_connected() const;

  const std::string node_id_;
  const CallParts parts_;
  const boost::asio::any_io_executor loop_;
  std::shared_ptr<client::Link> link_;             // Null while the node has not proved itself.
  std::list<boost::asio::steady_timer*> waiting_;  // Calls that wait for a link.
  bool ended_ = false;
};

}  // namespace tool::federation
