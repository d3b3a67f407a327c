#include "toolserver/session/client_session.h"

#include <algorithm>
#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/session/close_code.h"
#include "toolserver/session/payload_reader.h"
#include "toolserver/session/random_bytes.h"
#include "toolserver/session/tokens.h"
#include "toolserver/session/transcript.h"

namespace tool::session {
namespace {

constexpr std::size_t kMaxMessage = std::size_t{16} << 20;  // Of an answer.
constexpr std::size_t kMaxHandshake = 64 * 1024;
constexpr std::size_t kMaxText = 64 * 1024;
constexpr std::size_t kMaxValues = 2'000'000;

Fault out_of_place() { return refuse(Code::kState, "the server sent what was not asked for"); }

template <class Action>
ClientActions only(Action action) {
  ClientActions actions;
  actions.emplace_back(std::move(action));
  return actions;
}

// Section 5.2: which events a request may have.
bool is_event_of(Op request, Op event) {
  bool is_call = request == Op::kInvoke || request == Op::kForward;
  if (event == Op::kChunk) return is_call;
  return is_call || request == Op::kFlowRun || request == Op::kFlowCancel;
}

// A server that says more is asked again nevertheless.
constexpr std::chrono::milliseconds kLongestRetry = std::chrono::hours(1);

// An err as the fault it stands for. A code from the future is E_INTERNAL.
struct Refusal {
  Fault fault;
  base::json::Object data;
};

Outcome<Refusal> read_refusal(const base::json::Object& payload) {
  PayloadReader reader(payload, "p");
  std::string code = reader.text("code", 64);
  Refusal refusal;
  refusal.fault.code = code_of(code).value_or(Code::kInternal);
  refusal.fault.message = reader.text("msg", kMaxText);
  if (reader.has("retry_ms")) {
    std::chrono::milliseconds wait(reader.integer("retry_ms", 0));
    refusal.fault.retry_after = std::min(wait, kLongestRetry);
  }
  if (reader.has("data")) {
    if (const auto* data = reader.object("data")) refusal.data = *data;
  }
  if (reader.fault()) return *reader.fault();
  return refusal;
}

}  // namespace

ClientSession::ClientSession(ClientConfig config, Channel channel, const base::Clock& clock,
                             base::Random& random)
    : config_(std::move(config)),
      clock_(clock),
      random_(random),
      handshake_(config_, std::move(channel), random) {}

Envelope ClientSession::message(MessageType type, Op op, base::json::Object payload) const {
  base::WallTime now = clock_.now();
  return Envelope{.type = type,
                  .id = Ulid::make(now, random_),
                  .op = std::string(name(op)),
                  .time = wire_time(now),
                  .nonce = random_nonce(random_),
                  .audience = handshake_.welcome().node_id,
                  .payload = std::move(payload)};
}

Outcome<Frame> ClientSession::start() {
  if (state_ != ClientState::kIdle) return refuse(Code::kState, "the session was started before");
  Envelope hello = message(MessageType::kReq, Op::kHello, {});
  auto text = handshake_.start(hello);
  if (!text) return std::move(text).error();
  step_ = hello.id;
  state_ = ClientState::kHelloSent;
  return Frame{FrameKind::kText, std::move(*text)};
}

ClientActions ClientSession::on_text(std::string bytes) {
  return on_frame(FrameKind::kText, std::move(bytes));
}

ClientActions ClientSession::on_binary(std::string bytes) {
  return on_frame(FrameKind::kBinary, std::move(bytes));
}

ClientActions ClientSession::fail(Fault fault, base::json::Object data) {
  state_ = ClientState::kFailed;
  ClientActions actions;
  Close close{close_code(fault.code), std::string(name(fault.code))};
  actions.emplace_back(Failed{std::move(fault), std::move(data)});
  actions.emplace_back(std::move(close));
  return actions;
}

ClientActions ClientSession::on_frame(FrameKind kind, std::string bytes) {
  if (state_ == ClientState::kClosed || state_ == ClientState::kFailed) return {};
  auto actions = take(kind, std::move(bytes));
  if (!actions) return fail(std::move(actions).error());
  return std::move(*actions);
}

// The order of section 3.2.
Outcome<ClientActions> ClientSession::take(FrameKind kind, std::string bytes) {
  bool ready = state_ == ClientState::kReady || state_ == ClientState::kRekeying;
  std::size_t limit = ready ? kMaxMessage : kMaxHandshake;
  if (bytes.size() > limit) return refuse(Code::kLimit, "the message is too large");
  if (bytes.empty()) return refuse(Code::kParse, "an empty message");
  if (!layer_ && kind == FrameKind::kBinary) return out_of_place();
  if (layer_) {
    auto opened = layer_->unwrap(kind, std::move(bytes));
    if (!opened) return std::move(opened).error();
    bytes = std::move(*opened);
  }
  auto parsed = parse_envelope(bytes, {.bytes = limit, .values = kMaxValues});
  if (!parsed) return std::move(parsed).error();
  Envelope envelope = std::move(*parsed);
  if (auto good = check(envelope); !good) return std::move(good).error();
  if (envelope.type == MessageType::kErr) return on_refusal(std::move(envelope));
  if (state_ == ClientState::kHelloSent) return on_welcome(envelope);
  if (state_ == ClientState::kAuthSent) return on_ready(envelope);
  if (envelope.type == MessageType::kEvt) return on_event(std::move(envelope));
  return on_answer(std::move(envelope));
}

Outcome<void> ClientSession::check(const Envelope& envelope) {
  if (layer_) {
    if (auto shape = layer_->check_shape(envelope); !shape) return shape;
  }
  if (client_ruling(state_, envelope.type, op_of(envelope.op)) != Ruling::kAccept) {
    return out_of_place();
  }
  bool ready = state_ == ClientState::kReady || state_ == ClientState::kRekeying;
  if (envelope.audience != (ready ? ready_.session_id.text() : std::string_view())) {
    return refuse(Code::kReplay, "aud: the message is for another session");
  }
  if (!layer_) return {};
  if (auto signature = layer_->authenticate(envelope); !signature) return signature;
  if (has_records(layer_->suite())) return {};
  auto apart = wire_time(clock_.now()) - envelope.time;
  if (apart > config_.window || -apart > config_.window) {
    return refuse(Code::kStale, "the message is outside the freshness window");
  }
  return {};
}

Outcome<ClientActions> ClientSession::on_welcome(const Envelope& welcome) {
  if (welcome.id != step_) return out_of_place();
  auto layer = handshake_.on_welcome(welcome);
  if (!layer) return std::move(layer).error();
  layer_ = std::move(*layer);
  Envelope auth = message(MessageType::kReq, Op::kAuth, {});
  if (auto made = handshake_.make_auth(auth, layer_->keys()); !made) {
    return std::move(made).error();
  }
  auto frame = layer_->write(auth);
  if (!frame) return std::move(frame).error();
  step_ = auth.id;
  state_ = ClientState::kAuthSent;
  return only(Send{std::move(*frame)});
}

Outcome<ClientActions> ClientSession::on_ready(const Envelope& envelope) {
  if (envelope.id != step_) return out_of_place();
  auto ready = handshake_.on_ready(envelope, layer_->keys());
  if (!ready) return std::move(ready).error();
  ready_ = std::move(*ready);
  if (auto good = check_token(ready_.session_token); !good) return std::move(good).error();
  layer_->enter_ready(handshake_.th2());
  state_ = ClientState::kReady;
  rekeyed_at_ = clock_.now();
  set_refresh(ready_.expires_at);
  return only(Opened{});
}

void ClientSession::set_refresh(WireTime expires_at) {
  base::WallTime now = clock_.now();
  refresh_at_ = expires_at > now ? now + (expires_at - now) * 2 / 3 : now;
}

Outcome<ClientActions> ClientSession::on_refusal(Envelope envelope) {
  auto refusal = read_refusal(envelope.payload);
  if (!refusal) return std::move(refusal).error();
  bool handshake = state_ == ClientState::kHelloSent || state_ == ClientState::kAuthSent;
  if (handshake && envelope.id.known() && envelope.id != step_) return out_of_place();
  // Without a request's name it is about the connection, which ends.
  if (handshake || !envelope.id.known()) {
    return fail(std::move(refusal->fault), std::move(refusal->data));
  }
  Flight* flight = flights_.find(envelope.id);
  if (flight == nullptr || flight->op != envelope.op) return out_of_place();
  bool rekey = op_of(flight->op) == Op::kRekey;
  flights_.remove(envelope.id);
  if (!rekey) {
    return only(Refused{envelope.id, std::move(refusal->fault), std::move(refusal->data)});
  }
  next_key_.reset();
  state_ = ClientState::kReady;
  return only(Rekeyed{});
}

Outcome<ClientActions> ClientSession::on_event(Envelope event) {
  Flight* flight = flights_.find(event.id);
  if (flight == nullptr || event.sequence != flight->next_sequence) return out_of_place();
  Op op = op_of(event.op);
  if (!is_event_of(op_of(flight->op), op)) return out_of_place();
  return only(Event{event.id, op, std::move(event.payload), flight->next_sequence++});
}

Outcome<ClientActions> ClientSession::on_answer(Envelope answer) {
  Flight* flight = flights_.find(answer.id);
  if (flight == nullptr || flight->op != answer.op) return out_of_place();
  Op op = op_of(flight->op);
  flights_.remove(answer.id);
  if (op == Op::kRekey) return on_rekeyed(answer);
  if (op == Op::kRefresh) {
    if (auto good = on_refreshed(answer); !good) return std::move(good).error();
  }
  auto actions = only(Answer{answer.id, std::move(answer.payload)});
  if (op == Op::kClose) {
    state_ = ClientState::kClosed;
    actions.emplace_back(Close{kCloseDone, {}});
  }
  return actions;
}

Outcome<void> ClientSession::on_refreshed(const Envelope& answer) {
  PayloadReader reader(answer.payload, "p");
  auto token = reader.text("session_token", base::jose::kMaxTokenBytes);
  WireTime expires_at{std::chrono::milliseconds(reader.time("expires_at"))};
  if (reader.fault()) return *reader.fault();
  if (auto good = check_token(token); !good) return good;
  ready_.session_token = std::move(token);
  ready_.expires_at = expires_at;
  set_refresh(expires_at);
  return {};
}

// Who has only the shared secret can pose as the server, but cannot sign.
Outcome<void> ClientSession::check_token(std::string_view token) const {
  if (!config_.session_tokens) return {};
  SessionPlace place{welcome().node_id, welcome().cluster, std::string(ready_.session_id.text()),
                     handshake_.th1()};
  auto claims =
      verify_session_token(token, *config_.session_tokens, place, clock_.now(), config_.window);
  if (claims) return {};
  Fault fault = refuse(Code::kSignature, "session_token: is not one of this session by our key");
  fault.detail = claims.error().detail;
  return fault;
}

Outcome<ClientActions> ClientSession::on_rekeyed(const Envelope& answer) {
  auto share = read_b64(answer.payload, "eph", traits(layer_->suite()).share_bytes);
  if (!share) return std::move(share).error();
  auto dh = std::move(*next_key_).agree(*share);
  next_key_.reset();
  if (!dh) return refuse(Code::kShape, "p.eph: not a share of the suite's group");
  layer_->rekey(transcript_rekey(handshake_.th2(), layer_->epoch() + 1, next_share_, *share), *dh);
  state_ = ClientState::kReady;
  rekeyed_at_ = clock_.now();
  return only(Rekeyed{});
}

Outcome<Outgoing> ClientSession::encode_request(Op op, base::json::Object payload,
                                                std::optional<Meta> meta) {
  if (state_ != ClientState::kReady) return refuse(Code::kState, "the session is not ready");
  bool ours = op != Op::kHello && op != Op::kAuth && op != Op::kRekey && !name(op).empty();
  if (!ours) return refuse(Code::kState, "op: not a request of a ready session");
  Envelope request = message(MessageType::kReq, op, std::move(payload));
  request.meta = std::move(meta);
  auto frame = layer_->write(request);
  if (!frame) return refuse(Code::kShape, "p: " + frame.error().detail);
  flights_.add(request.id, request.op);
  return Outgoing{request.id, std::move(*frame)};
}

Outcome<Frame> ClientSession::encode_cancel(const Ulid& id) {
  if (state_ != ClientState::kReady) return refuse(Code::kState, "the session is not ready");
  if (flights_.find(id) == nullptr) return refuse(Code::kShape, "id: no such request");
  Envelope cancel = message(MessageType::kCancel, Op::kCancel, {});
  cancel.id = id;
  return layer_->write(cancel);
}

Outcome<Frame> ClientSession::rekey() {
  if (state_ != ClientState::kReady || !has_records(layer_->suite())) {
    return refuse(Code::kState, "keys are renewed in a ready session with records");
  }
  next_key_ = base::crypto::EphemeralKey::generate(traits(layer_->suite()).group, random_);
  next_share_ = next_key_->public_share();
  Envelope request =
      message(MessageType::kReq, Op::kRekey, {{"eph", base::crypto::to_base64url(next_share_)}});
  auto frame = layer_->write(request);
  if (!frame) return frame;
  flights_.add(request.id, request.op);
  state_ = ClientState::kRekeying;
  return frame;
}

bool ClientSession::needs_rekey() const {
  return state_ == ClientState::kReady && has_records(layer_->suite()) &&
         (layer_->reached(config_.rekey, 1) ||
          clock_.now() >= rekeyed_at_ + config_.rekey_interval);
}

Outcome<base::json::Object> ClientSession::refresh_payload() const {
  return handshake_.shown_credential();
}

}  // namespace tool::session
