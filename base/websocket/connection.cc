#include "base/websocket/connection.h"

#include "base/websocket/core.h"

namespace base::ws {

Connection::~Connection() { core_->drop(); }

Task<Result<Message>> Connection::receive() { return Core::receive(core_); }
Status Connection::send(Message message) { return core_->send(std::move(message)); }
Task<Status> Connection::drained() { return Core::drained(core_); }
std::size_t Connection::queued() const { return core_->queued(); }

void Connection::close(std::uint16_t code, std::string reason) { core_->close(code, reason); }
void Connection::abort() { core_->abort(); }
void Connection::set_message_limit(std::size_t bytes, std::uint16_t code) {
  core_->set_message_limit(bytes, code);
}
void Connection::vouch() { core_->vouch(); }
void Connection::set_close_time(std::chrono::milliseconds time) { core_->set_close_time(time); }
void Connection::on_drain(std::function<void()> call) { core_->on_drain(std::move(call)); }

const Closure& Connection::closure() const { return core_->closure(); }
const std::string& Connection::peer() const { return core_->peer(); }
bool Connection::encrypted() const { return core_->encrypted(); }
const std::string& Connection::subprotocol() const { return core_->subprotocol(); }
Result<std::string> Connection::tls_exporter(std::string_view label, std::size_t length) const {
  return core_->exporter(label, length);
}
Result<std::string> Connection::server_certificate_hash() const {
  return core_->certificate_hash();
}
const std::optional<PeerCertificate>& Connection::peer_certificate() const {
  return core_->certificate();
}

}  // namespace base::ws
