#include "toolserver/federation/peer_connector.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "toolserver/connectors/on_loop.h"

namespace tool::federation {
namespace {

namespace asio = boost::asio;

// Progress comes on the peer's loop and belongs on the caller's, where it is of
// no more use once the call has ended.
struct Relay {
  Progress progress;
  bool ended = false;
};

Progress relay_to(const std::shared_ptr<Relay>& relay, const asio::any_io_executor& loop) {
  return [relay, loop](double done, std::optional<double> total, std::string note) {
    asio::post(loop, [relay, done, total, note = std::move(note)]() mutable {
      if (!relay->ended) relay->progress(done, total, std::move(note));
    });
  };
}

}  // namespace

PeerConnector::PeerConnector(std::shared_ptr<Peer> peer, std::vector<Capability> tools)
    : peer_(std::move(peer)) {
  for (auto& one : tools) {
    ToolId id = one.id;
    tools_.emplace(std::move(id), std::move(one));
  }
}

std::vector<Capability> PeerConnector::capabilities() const {
  std::vector<Capability> out;
  for (const auto& [id, one] : tools_) out.push_back(one);
  return out;
}

base::Task<Outcome<ToolResult>> PeerConnector::invoke(Approved<Invocation> call,
                                                      Progress progress) {
  auto found = tools_.find(call->tool);
  if (found == tools_.end()) co_return refuse(Code::kTool, "no such tool");
  if (!peer_->is_open()) co_return refuse(Code::kBusy, "the service is about to end");
  auto mine = co_await asio::this_coro::executor;
  std::shared_ptr<Relay> relay;
  Progress forward;
  if (progress) {
    relay = std::make_shared<Relay>(std::move(progress));
    forward = relay_to(relay, mine);
  }
  auto peer = peer_;
  FarTool there{found->second.origin_tool, found->second.limits.output_bytes};
  Invocation copy = *call;
  auto result = co_await connectors::on_loop(
      peer->loop(), peer->call(std::move(copy), std::move(there), std::move(forward)));
  if (relay) relay->ended = true;
  co_return result;
}

}  // namespace tool::federation
