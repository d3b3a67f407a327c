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

std::string_view uri_of(const Invocation& call) {
  const auto* uri = call.args.if_contains("uri");
  return uri != nullptr && uri->is_string() ? std::string_view(uri->get_string()) : "";
}

// Whether a URI is one of the list or of the template. Asked once more here, where the
// server is: nothing else goes to it.
Outcome<void> check_uri(const ForeignTool& offer, std::string_view uri) {
  bool is_one =
      mcp::is_uri(uri) && (offer.uris ? offer.uris->matches(uri) : offer.listed.contains(uri));
  if (is_one) return {};
  return refuse(Code::kTool, "no such resource");
}

Outcome<ToolResult> without_questions(Outcome<ToolResult> result) {
  if (!result || !result->input_needed) return result;
  return refuse(Code::kPolicy,
                "the tool's server wants input of the caller, which bridges do not give");
}

// Null where the bridge's own loop has to be asked, which knows why.
std::shared_ptr<LoopSession> session_of(const Bridge& bridge, const asio::any_io_executor& loop) {
  auto sessions = bridge.loop_sessions();
  if (!sessions) return nullptr;
  auto own = sessions->of(loop);
  return own && !(*own)->is_closed() ? *own : nullptr;
}

// A URI of the server's means something at this server alone.
void carry_uris(const settings::Bridge& bridge, ToolResult& result) {
  for (Content& part : result.content) {
    if (part.part_of == PartOf::kAnswer || !mcp::is_uri(part.uri)) continue;
    part.uri = mcp::outer_uri(bridge.name, part.uri);
  }
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
  switch (call.tool.offer()) {
    case Offer::kResource: return check_uri(found->second, uri_of(call));
    case Offer::kPrompt: return {};
    case Offer::kTool: break;
  }
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
  if (call->tool.offer() != Offer::kTool) {
    co_return co_await fetch(std::move(call), found->second);
  }
  ServerSession::Call forward{found->second.capability.origin_tool,
                              call->args,
                              call->traceparent,
                              {},
                              call->context.deadline};
  auto headers = found->second.headers.of(call->args);
  if (!headers) co_return to_fault(std::move(headers).error());
  forward.headers = std::move(*headers);
  auto bridge = bridge_;
  auto result = without_questions(co_await ask(std::move(forward), std::move(progress)));
  if (result && bridge->config().offers.resources) carry_uris(bridge->config(), *result);
  co_return result;
}

base::Task<Outcome<ToolResult>> BridgeConnector::ask(ServerSession::Call call, Progress progress) {
  auto mine = co_await asio::this_coro::executor;
  auto bridge = bridge_;
  if (auto own = session_of(*bridge, mine)) {
    co_await asio::this_coro::throw_if_cancelled(false);
    call.progress = std::move(progress);
    co_return co_await own->session().call(std::move(call));
  }
  std::shared_ptr<Relay> relay;
  if (progress) {
    relay = std::make_shared<Relay>(std::move(progress));
    call.progress = relayed(relay, mine);
  }
  auto result = co_await connectors::on_loop(bridge->loop(), bridge->call(std::move(call)));
  if (relay) relay->ended = true;
  co_return result;
}

base::Task<Outcome<ToolResult>> BridgeConnector::ask(ServerSession::Fetch fetch) {
  auto bridge = bridge_;
  if (auto own = session_of(*bridge, co_await asio::this_coro::executor)) {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_return co_await own->session().fetch(std::move(fetch));
  }
  co_return co_await connectors::on_loop(bridge->loop(), bridge->fetch(std::move(fetch)));
}

base::Task<Outcome<ToolResult>> BridgeConnector::fetch(Approved<Invocation> call,
                                                       const ForeignTool& offer) {
  ServerSession::Fetch fetch{
      mcp::method::kReadResource, {}, call->traceparent, call->context.deadline};
  if (call->tool.offer() == Offer::kResource) {
    std::string_view uri = uri_of(*call);
    if (auto is_one = check_uri(offer, uri); !is_one) co_return std::move(is_one).error();
    fetch.params["uri"] = boost::json::string(uri);
  } else {
    fetch.method = mcp::method::kGetPrompt;
    fetch.params["name"] = offer.capability.origin_tool;
    fetch.params["arguments"] = call->args;
  }
  auto bridge = bridge_;
  auto result = without_questions(co_await ask(std::move(fetch)));
  if (result) carry_uris(bridge->config(), *result);
  co_return result;
}

}  // namespace tool::bridge
