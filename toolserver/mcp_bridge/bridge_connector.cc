#include "toolserver/mcp_bridge/bridge_connector.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "toolserver/connectors/on_loop.h"

namespace tool::bridge {
namespace {

namespace asio = boost::asio;

// Progress comes on the bridge's loop and belongs on the caller's, where it is
// of no more use once the call has ended.
struct Relay {
  Progress progress;
  bool ended = false;
};

Progress relayed(const std::shared_ptr<Relay>& relay, const asio::any_io_executor& to) {
  return [relay, to](double done, std::optional<double> total, std::string note) {
    asio::post(to, [relay, done, total, note = std::move(note)]() mutable {
      if (!relay->ended) relay->progress(done, total, std::move(note));
    });
  };
}

}  // namespace

BridgeConnector::BridgeConnector(std::shared_ptr<Bridge> bridge, std::vector<ForeignTool> tools)
    : bridge_(std::move(bridge)) {
  for (auto& one : tools) {
    ToolId id = one.capability.id;
    tools_.emplace(std::move(id), std::move(one));
  }
}

std::vector<Capability> BridgeConnector::capabilities() const {
  std::vector<Capability> out;
  for (const auto& [id, one] : tools_) out.push_back(one.capability);
  return out;
}

Outcome<void> BridgeConnector::allows(const Invocation& call) const {
  auto found = tools_.find(call.tool);
  if (found == tools_.end()) return refuse(Code::kTool, "no such tool");
  if (auto kept = found->second.rules.check(call.args); !kept) return kept;
  auto headers = found->second.headers.of(call.args);
  if (!headers) return to_fault(std::move(headers).error());
  return {};
}

base::Task<Outcome<ToolResult>> BridgeConnector::invoke(Approved<Invocation> call,
                                                        Progress progress) {
  auto found = tools_.find(call->tool);
  if (found == tools_.end()) co_return refuse(Code::kTool, "no such tool");
  if (!bridge_->is_open()) co_return refuse(Code::kBusy, "the service is about to end");
  auto mine = co_await asio::this_coro::executor;
  std::shared_ptr<Relay> relay;
  ServerSession::Call forward{found->second.capability.origin_tool,
                              call->args,
                              call->traceparent,
                              {},
                              call->context.deadline};
  auto headers = found->second.headers.of(call->args);
  if (!headers) co_return to_fault(std::move(headers).error());
  forward.headers = std::move(*headers);
  if (progress) {
    relay = std::make_shared<Relay>(std::move(progress));
    forward.progress = relayed(relay, mine);
  }
  auto bridge = bridge_;
  auto result = co_await connectors::on_loop(bridge->loop(), bridge->call(std::move(forward)));
  if (relay) relay->ended = true;
  co_return result;
}

}  // namespace tool::bridge
