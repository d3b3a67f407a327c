#include "toolserver/session/server_session.h"

#include <algorithm>
#include <utility>

#include "toolserver/session/close_code.h"
#include "toolserver/session/server_session_parts.h"

namespace tool::session {
namespace {

constexpr std::uint64_t kRekeyGrace = 2;  // Times the limit; section 7.1.

bool needs_token(Op op) {
  return op == Op::kCapList || op == Op::kCapGet || op == Op::kInvoke || op == Op::kOutcome ||
         op == Op::kAuditHead || op == Op::kSessionList || op == Op::kSessionClose ||
         op == Op::kFlowRun || op == Op::kFlowGet || op == Op::kFlowCancel || op == Op::kForward ||
         op == Op::kConsentList || op == Op::kConsentRevoke || op == Op::kForwardCaps;
}

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

// What costs no more than its frame is free, and tool.invoke is counted where
// its refusals are recorded, in the pipeline.
Outcome<void> ServerSession::take(Op op) {
  const OperationRate& rate = context_->config().rate;
  if (!principal_ || !rate.take) return {};
  if (op == Op::kClose || op == Op::kCancel || op == Op::kInvoke) return {};
  return rate.take(*principal_);
}

// Of refusals that the caller could have spared us.
bool ServerSession::tolerates(Code code) const {
  const OperationRate& rate = context_->config().rate;
  if (!principal_ || !rate.tolerates) return true;
  switch (code) {
    case Code::kUpstream:
    case Code::kInternal:
    case Code::kTimeout:
    case Code::kCancelled:
    case Code::kConsent: return true;
    default: return rate.tolerates(*principal_, code);
  }
}

ServerActions ServerSession::end_if_refused_too_often() {
  if (!std::exchange(refused_too_often_, false) || state_ == ServerState::kClosed ||
      state_ == ServerState::kFailed) {
    return {};
  }
  state_ = ServerState::kFailed;
  return only(Close{close_code(Code::kRate), std::string(name(Code::kRate))});
}

ServerActions ServerSession::handle(Op op, Envelope envelope, std::string_view text) {
  if (auto taken = take(op); !taken) return refuse_message(origin_of(envelope), taken.error());
  switch (op) {
    case Op::kHello: return on_hello(envelope, text);
    case Op::kAuth: return on_auth(std::move(envelope));
    case Op::kClose: return on_close(envelope);
    case Op::kPing: return reply(envelope, {});
    case Op::kRefresh: return on_refresh(envelope);
    case Op::kRekey: return on_rekey(envelope);
    case Op::kCancel:
      if (flights_.find(envelope.id) == nullptr) {
        refused_too_often_ = !tolerates(Code::kShape);  // It has no answer, and costs as much.
        return end_if_refused_too_often();
      }
      return only(Cancel{envelope.id});
    default: return on_request(op, std::move(envelope));
  }
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

ServerActions ServerSession::refuse_message(const Origin& origin, const Fault& fault) {
  auto closing = closes_with(state_, fault.code);
  Code reason = fault.code;
  if (!closing && !tolerates(fault.code)) {
    reason = Code::kRate;
    closing = close_code(reason);
  }
  ServerActions actions;
  auto frame = protect(answer(MessageType::kErr, origin.id, origin.op, error_payload(fault)));
  if (frame) actions.emplace_back(Send{std::move(*frame)});
  if (!closing) return actions;
  state_ = ServerState::kFailed;
  actions.emplace_back(Close{*closing, std::string(name(reason))});
  return actions;
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

ServerActions ServerSession::end(Code code) {
  if (state_ == ServerState::kClosed || state_ == ServerState::kFailed) return {};
  state_ = ServerState::kFailed;
  return only(Close{close_code(code), std::string(name(code))});
}

// A certificate cannot be renewed on the connection that it was shown on.
base::WallTime ServerSession::credential_end() const {
  bool bound = principal_ && principal_->method == Method::kMtls;
  return bound ? principal_->expires_at : base::WallTime::max();
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
      base::WallTime at =
          std::min<base::WallTime>(opened_at_ + config.times.session, credential_end());
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
  if (keys_too_old && now >= credential_end()) return end(Code::kExpired);
  return end(keys_too_old ? Code::kState : Code::kTimeout);
}

}  // namespace tool::session
