#include "toolserver/session/server_session.h"

#include <algorithm>
#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/session/close_code.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/payload_reader.h"
#include "toolserver/session/random_bytes.h"
#include "toolserver/session/transcript.h"

namespace tool::session {
namespace {

constexpr std::chrono::milliseconds kRetryInFlight{100};
constexpr std::chrono::milliseconds kRetryDraining{5'000};
constexpr std::uint64_t kRekeyGrace = 2;  // Times the limit; section 7.1.
constexpr std::uint32_t kLastEpoch = 0xFFFF;

Fault busy(std::string message, std::chrono::milliseconds retry) {
  Fault fault = refuse(Code::kBusy, std::move(message));
  fault.retry_after = retry;
  return fault;
}

bool needs_token(Op op) {
  return op == Op::kCapList || op == Op::kCapGet || op == Op::kInvoke || op == Op::kAuditHead;
}

template <class Action>
ServerActions only(Action action) {
  ServerActions actions;
  actions.emplace_back(std::move(action));
  return actions;
}

Origin origin_of(const Envelope& envelope) { return {envelope.id, envelope.op}; }

}  // namespace

ServerSession::ServerSession(std::shared_ptr<const ServerContext> context, Channel channel)
    : context_(context),
      handshake_(context, std::move(channel)),
      id_(Ulid::make(context->now(), context->random())),
      opened_at_(context->now()),
      step_by_(opened_at_ + context->config().times.hello),
      rekeyed_at_(opened_at_) {}

ServerSession::~ServerSession() { context_->replay().forget(id_); }

std::size_t ServerSession::message_limit() const {
  const ServerConfig& config = context_->config();
  bool ready = state_ == ServerState::kReady || state_ == ServerState::kRekeying ||
               state_ == ServerState::kDraining;
  return ready ? config.limits.message_bytes : config.handshake_bytes;
}

ServerActions ServerSession::on_text(std::string bytes) {
  return on_frame(FrameKind::kText, std::move(bytes));
}

ServerActions ServerSession::on_binary(std::string bytes) {
  return on_frame(FrameKind::kBinary, std::move(bytes));
}

// Section 3.2, from the size to the envelope.
ServerActions ServerSession::on_frame(FrameKind kind, std::string bytes) {
  if (state_ == ServerState::kClosed || state_ == ServerState::kFailed) return {};
  if (bytes.size() > message_limit()) {
    auto actions = refuse_message({}, refuse(Code::kLimit, "the message is too large"));
    if (state_ == ServerState::kFailed) return actions;
    state_ = ServerState::kFailed;
    actions.emplace_back(Close{kCloseTooLarge, std::string(name(Code::kLimit))});
    return actions;
  }
  if (bytes.empty()) return refuse_message({}, refuse(Code::kParse, "an empty message"));
  std::string text;
  if (layer_) {
    auto opened = layer_->unwrap(kind, std::move(bytes));
    if (!opened) return refuse_message({}, opened.error());
    text = std::move(*opened);
    if (state_ == ServerState::kRekeying) state_ = ServerState::kReady;
    if (layer_->reached(context_->config().rekey, kRekeyGrace)) {
      return refuse_message({}, refuse(Code::kState, "the keys were not renewed"));
    }
  } else if (kind == FrameKind::kBinary) {
    return refuse_message({}, refuse(Code::kState, "a hello must be text"));
  } else {
    text = std::move(bytes);
  }
  MessageLimits limits{.bytes = message_limit()};
  auto envelope = parse_envelope(text, limits);
  if (!envelope) return refuse_message(tool::origin_of(text, limits), envelope.error());
  return on_envelope(std::move(*envelope), text);
}

ServerActions ServerSession::on_envelope(Envelope envelope, std::string_view text) {
  if (layer_) {
    if (auto shape = layer_->check_shape(envelope); !shape) {
      return refuse_message(origin_of(envelope), shape.error());
    }
  }
  Op op = op_of(envelope.op);
  ServerStep step = server_step(state_, envelope.type, op, suite());
  if (step.ruling == Ruling::kDrop) return {};
  if (step.ruling == Ruling::kRefuse) {
    return refuse_message(origin_of(envelope), refuse(Code::kState, "not allowed in this state"));
  }
  if (auto good = check(envelope); !good) {
    return refuse_message(origin_of(envelope), good.error());
  }
  if (step.ruling == Ruling::kUnknownOp) {
    return refuse_message(origin_of(envelope), refuse(Code::kOp, "op: no such operation"));
  }
  if (step.ruling == Ruling::kBusy) {
    return refuse_message(origin_of(envelope), busy("the server is stopping", kRetryDraining));
  }
  return handle(op, std::move(envelope), text);
}

// Section 3.2, from aud on. A hello is bound and fresh by its transcript.
Outcome<void> ServerSession::check(const Envelope& envelope) {
  if (!layer_) return {};
  if (envelope.audience != context_->config().node_id) {
    return refuse(Code::kReplay, "aud: the message is for another node");
  }
  if (auto signature = layer_->authenticate(envelope); !signature) return signature;
  if (has_records(layer_->suite())) return {};
  // Before READY each message is admitted once by the state itself.
  if (!principal_) return context_->replay().check_fresh(envelope.time, context_->now());
  return context_->replay().admit(id_, envelope.nonce, envelope.time, context_->now());
}

ServerActions ServerSession::handle(Op op, Envelope envelope, std::string_view text) {
  switch (op) {
    case Op::kHello: return on_hello(envelope, text);
    case Op::kAuth: return on_auth(std::move(envelope));
    case Op::kClose: return on_close(envelope);
    case Op::kPing: return reply(envelope, {});
    case Op::kRefresh: return on_refresh(envelope);
    case Op::kRekey: return on_rekey(envelope);
    case Op::kCancel:
      if (flights_.find(envelope.id) == nullptr) return {};
      return only(Cancel{envelope.id});
    default: return on_request(op, std::move(envelope));
  }
}

ServerActions ServerSession::on_hello(const Envelope& hello, std::string_view text) {
  auto welcomed = handshake_.on_hello(text, hello);
  if (!welcomed) return refuse_message(origin_of(hello), welcomed.error());
  layer_ = std::move(welcomed->layer);
  state_ = ServerState::kNegotiated;
  step_by_ = context_->now() + context_->config().times.auth;
  return only(Send{Frame{FrameKind::kText, std::move(welcomed->text)}});
}

ServerActions ServerSession::on_auth(Envelope auth) {
  Origin origin = origin_of(auth);
  auto presented = handshake_.on_auth(std::move(auth), layer_->keys());
  if (!presented) return refuse_message(origin, presented.error());
  state_ = ServerState::kAuthenticating;
  // The verification may ask others, and must end too.
  step_by_ = context_->now() + context_->config().times.auth;
  auth_ = std::move(origin);
  return only(VerifyCredential{.purpose = VerifyCredential::Purpose::kAuth,
                               .method = presented->method,
                               .credential = std::move(presented->credential),
                               .th1 = handshake_.th1()});
}

ServerActions ServerSession::on_verified(Principal principal) {
  if (state_ == ServerState::kAuthenticating) return enter_ready(std::move(principal));
  if (state_ == ServerState::kClosed || state_ == ServerState::kFailed || !refresh_) return {};
  Origin origin = *std::exchange(refresh_, std::nullopt);
  if (principal.subject != principal_->subject || principal.issuer != principal_->issuer) {
    return refuse_message(origin, wrong_credential("a refresh for another subject"));
  }
  return grant_refresh(origin, std::move(principal));
}

ServerActions ServerSession::on_refused(Fault fault) {
  if (state_ == ServerState::kAuthenticating) return refuse_message(*auth_, fault);
  if (state_ == ServerState::kClosed || state_ == ServerState::kFailed || !refresh_) return {};
  return refuse_message(*std::exchange(refresh_, std::nullopt), fault);
}

base::WallTime ServerSession::token_end(const Principal& principal) const {
  const SessionTimes& times = context_->config().times;
  return std::min(
      {context_->now() + times.token, opened_at_ + times.session, principal.expires_at});
}

Outcome<std::string> ServerSession::mint_token(const Principal& principal, base::WallTime expires) {
  if (expires <= context_->now()) {
    return refuse(Code::kExpired, "the credential is out of its time");
  }
  auto token = context_->tokens().mint({.subject = principal.subject,
                                        .scopes = principal.scopes,
                                        .session = id_,
                                        .mode = context_->config().mode,
                                        .th1 = handshake_.th1(),
                                        .expires_at = expires},
                                       context_->now(), context_->random());
  if (!token) return refuse(Code::kLimit, "the credential's scopes are too long for a token");
  return std::move(*token);
}

ServerActions ServerSession::enter_ready(Principal principal) {
  base::WallTime expires = token_end(principal);
  auto token = mint_token(principal, expires);
  if (!token) return refuse_message(*auth_, token.error());
  Ready ready;
  ready.session_id = id_;
  ready.session_token = std::move(*token);
  ready.subject = principal.subject;
  ready.issuer = principal.issuer;
  ready.scopes = principal.scopes.list();
  ready.expires_at = wire_time(expires);
  Envelope message = answer(MessageType::kRes, auth_->id, auth_->op, write_payload(ready));
  auto th2 = handshake_.finish(message, layer_->keys());
  if (!th2) return refuse_message(*auth_, th2.error());
  auto frame = layer_->write(message);
  if (!frame) return refuse_message(*auth_, frame.error());
  th2_ = *th2;
  layer_->enter_ready(th2_);
  state_ = ServerState::kReady;
  principal_ = std::move(principal);
  token_end_ = expires;
  rekeyed_at_ = context_->now();
  return only(Send{std::move(*frame)});
}

ServerActions ServerSession::on_refresh(const Envelope& request) {
  if (refresh_) {
    return refuse_message(origin_of(request), busy("a refresh is under way", kRetryInFlight));
  }
  if (request.payload.empty()) return grant_refresh(origin_of(request), *principal_);
  PayloadReader reader(request.payload, "p");
  auto method = method_of(reader.text("method", 64));
  base::Secret credential(reader.text("credential", base::jose::kMaxTokenBytes));
  if (reader.fault()) return refuse_message(origin_of(request), *reader.fault());
  if (!method || std::ranges::count(context_->config().methods, *method) == 0) {
    return refuse_message(origin_of(request), wrong_credential("a method that is not offered"));
  }
  refresh_ = origin_of(request);
  return only(VerifyCredential{.purpose = VerifyCredential::Purpose::kRefresh,
                               .method = *method,
                               .credential = std::move(credential),
                               .th1 = handshake_.th1()});
}

ServerActions ServerSession::grant_refresh(const Origin& origin, Principal principal) {
  base::WallTime expires = token_end(principal);
  auto token = mint_token(principal, expires);
  if (!token) return refuse_message(origin, token.error());
  auto frame = protect(answer(
      MessageType::kRes, origin.id, origin.op,
      {{"session_token", *token}, {"expires_at", wire_time(expires).time_since_epoch().count()}}));
  if (!frame) return refuse_message(origin, frame.error());
  principal_ = std::move(principal);
  token_end_ = expires;
  return only(Send{std::move(*frame)});
}

// The answer is the last record of the old epoch, in our direction as the
// request was in theirs.
ServerActions ServerSession::on_rekey(const Envelope& request) {
  const SuiteTraits& suite = traits(layer_->suite());
  auto share_c = read_b64(request.payload, "eph", suite.share_bytes);
  if (!share_c) return refuse_message(origin_of(request), share_c.error());
  if (layer_->epoch() == kLastEpoch) {
    return refuse_message(origin_of(request), refuse(Code::kLimit, "no more epochs"));
  }
  auto key = base::crypto::EphemeralKey::generate(suite.group, context_->random());
  std::string share_s = key.public_share();
  auto dh = std::move(key).agree(*share_c);
  if (!dh) {
    return refuse_message(origin_of(request),
                          refuse(Code::kShape, "p.eph: not a share of the suite's group"));
  }
  auto actions = reply(request, {{"eph", base::crypto::to_base64url(share_s)}});
  layer_->rekey(transcript_rekey(th2_, layer_->epoch() + 1, *share_c, share_s), *dh);
  state_ = ServerState::kRekeying;
  rekeyed_at_ = context_->now();
  return actions;
}

ServerActions ServerSession::on_close(const Envelope& request) {
  auto actions = reply(request, {});
  state_ = ServerState::kClosed;
  actions.emplace_back(Close{kCloseDone, {}});
  return actions;
}

ServerActions ServerSession::on_request(Op op, Envelope request) {
  if (needs_token(op) && context_->now() >= token_end_) {
    return refuse_message(origin_of(request),
                          refuse(Code::kExpired, "the session token is out of its time"));
  }
  if (flights_.find(request.id) != nullptr) {
    return refuse_message(origin_of(request),
                          refuse(Code::kShape, "id: is in use by a running call"));
  }
  if (flights_.size() >= context_->config().limits.in_flight) {
    return refuse_message(origin_of(request), busy("too many calls in flight", kRetryInFlight));
  }
  flights_.add(request.id, request.op);
  return only(Request{op, std::move(request)});
}

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
Outcome<Frame> ServerSession::protect(const Envelope& envelope) {
  if (layer_) return layer_->write(envelope);
  auto text = write_envelope(envelope);
  if (!text) return refuse(Code::kInternal, "the answer cannot be written");
  return Frame{FrameKind::kText, std::move(*text)};
}

ServerActions ServerSession::reply(const Envelope& request, base::json::Object payload) {
  auto frame = protect(answer(MessageType::kRes, request.id, request.op, std::move(payload)));
  if (!frame) return refuse_message(origin_of(request), frame.error());
  return only(Send{std::move(*frame)});
}

ServerActions ServerSession::refuse_message(const Origin& origin, const Fault& fault) {
  auto closing = closes_with(state_, fault.code);
  ServerActions actions;
  auto frame = protect(answer(MessageType::kErr, origin.id, origin.op, error_payload(fault)));
  if (frame) actions.emplace_back(Send{std::move(*frame)});
  if (!closing) return actions;
  state_ = ServerState::kFailed;
  actions.emplace_back(Close{*closing, std::string(name(fault.code))});
  return actions;
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
  auto frame = protect(answer(type, id, flight->op, std::move(payload)));
  if (frame) flights_.remove(id);
  return frame;
}

Outcome<Frame> ServerSession::encode_result(const Ulid& id, base::json::Object payload) {
  return end_flight(MessageType::kRes, id, std::move(payload));
}

Outcome<Frame> ServerSession::encode_error(const Ulid& id, const Fault& fault,
                                           base::json::Object data) {
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

ServerActions ServerSession::begin_drain() {
  switch (state_) {
    case ServerState::kReady:
    case ServerState::kRekeying: state_ = ServerState::kDraining; return {};
    case ServerState::kConnected:
    case ServerState::kNegotiated:
    case ServerState::kAuthenticating:
      state_ = ServerState::kClosed;
      return only(Close{kCloseDraining, {}});
    case ServerState::kDraining:
    case ServerState::kClosed:
    case ServerState::kFailed: return {};
  }
  return {};
}

std::optional<Timer> ServerSession::timer() const {
  const ServerConfig& config = context_->config();
  switch (state_) {
    case ServerState::kConnected:
    case ServerState::kNegotiated:
    case ServerState::kAuthenticating: return Timer{step_by_};
    case ServerState::kReady:
    case ServerState::kRekeying:
    case ServerState::kDraining: {
      base::WallTime at = opened_at_ + config.times.session;
      if (has_records(suite())) {
        at = std::min(at, rekeyed_at_ + static_cast<int>(kRekeyGrace) * config.rekey_interval);
      }
      return Timer{at};
    }
    case ServerState::kClosed:
    case ServerState::kFailed: return std::nullopt;
  }
  return std::nullopt;
}

ServerActions ServerSession::on_time() {
  auto due = timer();
  base::WallTime now = context_->now();
  if (!due || now < due->at) return {};
  bool keys_too_old = principal_ && now < opened_at_ + context_->config().times.session;
  Code code = keys_too_old ? Code::kState : Code::kTimeout;
  state_ = ServerState::kFailed;
  return only(Close{close_code(code), std::string(name(code))});
}

}  // namespace tool::session
