// What the session sends: answers, refusals and events.

#include <utility>

#include "toolserver/session/random_bytes.h"
#include "toolserver/session/server_session.h"
#include "toolserver/session/server_session_parts.h"

namespace tool::session {

Envelope ServerSession::answer(MessageType type, const Ulid& id, std::string_view op,
                               base::json::Object payload) const {
  return Envelope{.type = type,
                  .id = id,
                  .op = std::string(op.empty() ? name(Op::kError) : op),
                  .time = wire_time(context_->now()),
                  .nonce = random_nonce(context_->random()),
                  .audience = principal_ ? std::string(id_.text()) : std::string(),
                  .payload = std::move(payload)};
}

// Before welcome there is nothing to protect a message with.
Outcome<Frame> ServerSession::protect(const Envelope& envelope, std::size_t most) {
  if (layer_) return layer_->write(envelope, most);
  auto text = write_envelope(envelope);
  if (!text) return refuse(Code::kInternal, "the answer cannot be written");
  return Frame{FrameKind::kText, std::move(*text)};
}

ServerActions ServerSession::reply(const Envelope& request, base::json::Object payload) {
  auto frame = protect(answer(MessageType::kRes, request.id, request.op, std::move(payload)));
  if (!frame) return refuse_message(origin_of(request), frame.error());
  return only(Send{std::move(*frame)});
}

// An err carries what the fault has; E_VERSION also what would have been right.
base::json::Object ServerSession::error_payload(const Fault& fault) const {
  base::json::Object data;
  if (fault.code == Code::kVersion) {
    base::json::Array versions;
    for (Version version : context_->config().versions) versions.emplace_back(to_string(version));
    data["versions"] = std::move(versions);
  }
  return session::error_payload(fault, std::move(data));
}

base::json::Object error_payload(const Fault& fault, base::json::Object data) {
  std::string_view code = name(fault.code);
  base::json::Object payload{{"code", boost::json::string_view(code.data(), code.size())},
                             {"num", number(fault.code)},
                             {"msg", fault.message}};
  if (fault.retry_after) payload["retry_ms"] = fault.retry_after->count();
  if (!data.empty()) payload["data"] = std::move(data);
  return payload;
}

Outcome<Frame> ServerSession::end_flight(MessageType type, const Ulid& id,
                                         base::json::Object payload) {
  Flight* flight = flights_.find(id);
  if (flight == nullptr) return refuse(Code::kInternal, "no such request is running");
  auto frame =
      protect(answer(type, id, flight->op, std::move(payload)), context_->config().answer_bytes);
  if (frame) flights_.remove(id);
  return frame;
}

Outcome<Frame> ServerSession::encode_result(const Ulid& id, base::json::Object payload) {
  return end_flight(MessageType::kRes, id, std::move(payload));
}

// Only a session that is ready, and so has its layer, runs a request.
Outcome<Frame> ServerSession::encode_written(const Ulid& id, const WrittenPayload& payload) {
  Flight* flight = flights_.find(id);
  if (flight == nullptr) return refuse(Code::kInternal, "no such request is running");
  auto frame = layer_->write(answer(MessageType::kRes, id, flight->op, {}), payload,
                             context_->config().answer_bytes);
  if (frame) flights_.remove(id);
  return frame;
}

Outcome<Frame> ServerSession::encode_error(const Ulid& id, const Fault& fault,
                                           base::json::Object data) {
  // The server's own word for "no room" is nobody's fault.
  if (fault.code != Code::kBusy) refused_too_often_ = !tolerates(fault.code) || refused_too_often_;
  return end_flight(MessageType::kErr, id, session::error_payload(fault, std::move(data)));
}

Outcome<Frame> ServerSession::encode_event(const Ulid& id, Op op, base::json::Object payload) {
  Flight* flight = flights_.find(id);
  if (flight == nullptr) return refuse(Code::kInternal, "no such request is running");
  Envelope event = answer(MessageType::kEvt, id, name(op), std::move(payload));
  event.sequence = flight->next_sequence;
  auto frame = protect(event);
  if (frame) ++flight->next_sequence;
  return frame;
}

}  // namespace tool::session
