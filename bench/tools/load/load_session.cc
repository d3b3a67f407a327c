#include "bench/tools/load/load_session.h"

#include <utility>
#include <variant>

#include "base/websocket/client.h"

namespace bench {

namespace ws = base::ws;
namespace session = tool::session;
using tool::Code;
using tool::Outcome;

namespace {

ws::ConnectOptions connect_options(const tool::client::ClientOptions& options,
                                   base::Random& random) {
  ws::ConnectOptions out;
  out.url = options.url;
  out.subprotocol = "scp.v3.json";
  out.ca_file = options.ca_file;
  out.connection.message_bytes = options.message_bytes;
  out.random = &random;
  return out;
}

tool::Fault lost(const base::Error& error) {
  auto fault = tool::refuse(Code::kUpstream, error.message());
  fault.detail = error.detail();
  return fault;
}

}  // namespace

LoadSession::LoadSession(std::unique_ptr<ws::Connection> connection, session::ClientConfig config,
                         session::Channel channel, const base::Clock& clock, base::Random& random)
    : connection_(std::move(connection)),
      session_(std::move(config), std::move(channel), clock, random) {}

base::Task<Outcome<std::unique_ptr<LoadSession>>> LoadSession::open(
    tool::client::ClientOptions options, const base::Clock& clock, base::Random& random) {
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + options.connect_time;
  auto connection = co_await ws::connect(context, connect_options(options, random));
  if (!connection) co_return lost(connection.error());
  session::Channel channel;
  channel.reach = session::Reach::kLoopback;
  if ((*connection)->encrypted()) {
    auto exporter = (*connection)->tls_exporter("EXPORTER-Channel-Binding", 32);
    if (!exporter) co_return lost(exporter.error());
    channel.tls = session::TlsBinding{std::move(*exporter), {}};
  }
  std::unique_ptr<LoadSession> opened(new LoadSession(
      std::move(*connection), std::move(options.session), std::move(channel), clock, random));
  auto shaken = co_await opened->shake_hands();
  if (!shaken) co_return std::move(shaken).error();
  co_return std::move(opened);
}

base::Task<Outcome<void>> LoadSession::shake_hands() {
  auto hello = session_.start();
  if (!hello) co_return std::move(hello).error();
  send(std::move(*hello));
  while (session_.state() != session::ClientState::kReady) {
    auto actions = co_await receive();
    if (!actions) co_return std::move(actions).error();
  }
  co_return Outcome<void>();
}

Outcome<tool::Ulid> LoadSession::send_request(session::Op op, base::json::Object payload) {
  auto request = session_.encode_request(op, std::move(payload));
  if (!request) return std::move(request).error();
  send(std::move(request->frame));
  return request->id;
}

base::Task<Outcome<session::ClientActions>> LoadSession::receive() {
  auto message = co_await connection_->receive();
  if (!message) co_return lost(message.error());
  auto actions = message->kind == ws::Message::Kind::kText
                     ? session_.on_text(std::move(message->data))
                     : session_.on_binary(std::move(message->data));
  for (auto& action : actions) {
    if (auto* out = std::get_if<session::Send>(&action)) send(std::move(out->frame));
    if (auto* failed = std::get_if<session::Failed>(&action)) co_return std::move(failed->fault);
  }
  co_return actions;
}

base::Task<Outcome<void>> LoadSession::close() {
  auto request = session_.encode_request(session::Op::kClose, {});
  if (!request) co_return std::move(request).error();
  send(std::move(request->frame));
  while (session_.state() != session::ClientState::kClosed) {
    auto actions = co_await receive();
    if (!actions) co_return std::move(actions).error();
  }
  connection_->close(ws::kCloseNormal, "");
  // The server ends the connection; whichever way it says so is good.
  static_cast<void>(co_await connection_->receive());
  co_return Outcome<void>();
}

base::Task<void> LoadSession::idle() {
  while (true) {
    auto actions = co_await receive();
    if (!actions) co_return;
  }
}

void LoadSession::send(session::Frame frame) {
  auto kind = frame.kind == session::FrameKind::kText ? ws::Message::Kind::kText
                                                      : ws::Message::Kind::kBinary;
  // A send that fails ends the connection, which receive() reports.
  static_cast<void>(connection_->send({kind, std::move(frame.bytes)}));
}

}  // namespace bench
