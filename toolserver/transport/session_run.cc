#include "toolserver/transport/session_run.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>
#include <variant>

#include "toolserver/session/close_code.h"
#include "toolserver/transport/session_run_parts.h"

namespace tool::transport {
namespace {

ws::Message to_message(session::Frame frame) {
  auto kind = frame.kind == session::FrameKind::kText ? ws::Message::Kind::kText
                                                      : ws::Message::Kind::kBinary;
  return {kind, std::move(frame.bytes)};
}

std::string_view how_it_ended(ws::End end) {
  switch (end) {
    case ws::End::kOpen:
    case ws::End::kClosedHere: return "closed here";
    case ws::End::kClosedByPeer: return "closed by the client";
    case ws::End::kLost: return "lost";
    case ws::End::kProtocolError: return "the client broke the WebSocket protocol";
    case ws::End::kTooLarge: return "the client sent too large a message";
    case ws::End::kIdle: return "the client was silent for too long";
    case ws::End::kSlowConsumer: return "slow consumer: the client did not read in time";
  }
  return "";
}

// As the token named it. Source: docs/wire-3.0.md, sections 6.6 and 16.3.
base::json::Object confirmation(const Binding& bound) {
  base::json::Object out;
  if (!bound.key.empty()) out["jkt"] = bound.key;
  if (!bound.certificate.empty()) out["x5t#S256"] = bound.certificate;
  return out;
}

}  // namespace

class Run::Events final : public EventSink {
 public:
  Events(Run& run, const Ulid& id) : run_(run), id_(id) {}

  void progress(base::json::Object payload) override {
    if (run_.connection_->queued() > kBusyQueueBytes) return;
    emit(session::Op::kProgress, std::move(payload));
  }

  base::Task<Outcome<void>> chunk(base::json::Object payload) override {
    if (!co_await run_.turns_.take()) {
      co_return refuse(Code::kCancelled, "cancelled, or the connection has ended");
    }
    emit(session::Op::kChunk, std::move(payload));
    // Where a client reads as fast as this writes, nobody waits for anything: what else
    // is to be done on this loop, a cancellation among it, comes in between.
    co_await asio::post(asio::use_awaitable);
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      co_return refuse(Code::kCancelled, "cancelled");
    }
    co_return Outcome<void>();
  }

 private:
  void emit(session::Op op, base::json::Object payload) {
    if (run_.ending_) return;
    if (auto frame = run_.session_.encode_event(id_, op, std::move(payload))) {
      run_.send(std::move(*frame));
    }
  }

  Run& run_;
  Ulid id_;
};

base::Task<void> Run::serve() {
  services_.metrics.sessions.add(1);
  connection_->on_drain([this] {
    perform(session_.begin_drain());
    if (ending_) cancel_calls();  // Nobody waits for them here, and nobody should there.
  });
  tasks_.spawn(keep_time());
  connection_->set_message_limit(session_.message_limit(), session::kCloseTooLarge);
  while (true) {
    auto message = co_await connection_->receive();
    if (!message) break;
    perform(message->kind == ws::Message::Kind::kText
                ? session_.on_text(std::move(message->data))
                : session_.on_binary(std::move(message->data)));
  }
  ending_ = true;
  turns_.close();
  // The tasks below hold references into this frame.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  if (!is_lost()) services_.sessions.reconnections().forget(session_.id().text());
  leave_calls();
  if (verification_) verification_->emit(asio::cancellation_type::terminal);
  if (rechecking_ && calls_.empty()) rechecking_->emit(asio::cancellation_type::terminal);
  timer_.cancel();
  co_await tasks_.wait();
  services_.metrics.sessions.add(-1);
  log_end();
  if (caller_) record("session_ended", "ok", {{"close_code", connection_->closure().code}});
}

void Run::cancel_calls() {
  // A call may end, and be forgotten, in the middle of its cancellation.
  for (const auto& call : std::exchange(calls_, {})) {
    call.cancel->emit(asio::cancellation_type::terminal);
  }
}

// Nobody ended the session, neither the client nor we.
bool Run::is_lost() const {
  auto end = connection_->closure().end;
  auto state = session_.state();
  return state != session::ServerState::kDraining && state != session::ServerState::kClosed &&
         state != session::ServerState::kFailed &&
         (end == ws::End::kLost || end == ws::End::kClosedByPeer || end == ws::End::kIdle ||
          end == ws::End::kSlowConsumer);
}

// The connection has ended. Whoever only lost it comes back for the calls that
// have a key, by which they are found again.
void Run::leave_calls() {
  if (!is_lost()) return cancel_calls();
  auto left = std::exchange(calls_, {});
  for (const auto& call : left) {
    if (call.outlives) calls_.push_back(call);
  }
  for (const auto& call : left) {
    if (!call.outlives) call.cancel->emit(asio::cancellation_type::terminal);
  }
}

// In the trail, by whoever is known by now. What a stranger wrote is not in it.
void Run::record(std::string_view act, std::string_view code, base::json::Object details) {
  audit::Act what{act, code, {}, {}, connection_->peer()};
  details["code"] = code;
  details["peer"] = connection_->peer();
  details["sid"] = session_.id().text();
  if (caller_) {
    what.subject = caller_->principal.subject;
    what.issuer = caller_->principal.issuer;
    base::json::Object principal{{"iss", what.issuer}, {"sub", audit::cut_text(what.subject)}};
    const Binding& bound = caller_->principal.bound_to;
    if (!bound.empty()) principal["cnf"] = confirmation(bound);
    details["principal"] = std::move(principal);
  }
  services_.audit.note(what, std::move(details));
}

void Run::perform(session::ServerActions actions) {
  for (auto& action : actions) {
    std::visit([this](auto& one) { perform(std::move(one)); }, action);
  }
  keep_for_reconnection();
  // Also while receive() waits: the verification ends in a task of its own.
  connection_->set_message_limit(session_.message_limit(), session::kCloseTooLarge);
}

void Run::send(session::Frame frame) {
  auto sent = connection_->send(to_message(std::move(frame)));
  if (sent || connection_->closure().end != ws::End::kOpen) return;  // receive() reports an end.
  log_.error("a message cannot be sent", {{"detail", sent.error().message()}});
  connection_->close(close_code(Code::kInternal), "E_INTERNAL");
}

void Run::perform(session::Close action) {
  services_.sessions.reconnections().forget(session_.id().text());
  if (!action.reason.empty()) {
    services_.metrics.refused.add();
    if (may_log()) {
      log_.info("session refused", {{"code", action.reason}, {"peer", connection_->peer()}});
    }
    if (!is_login_refused_) record("session_refused", action.reason);
  }
  connection_->close(action.code, std::move(action.reason));
}

void Run::perform(session::Request action) {
  auto cancel = std::make_shared<asio::cancellation_signal>();
  bool is_call = action.op == session::Op::kInvoke || action.op == session::Op::kForward;
  bool outlives = (is_call && action.envelope.payload.contains("idem")) ||
                  action.op == session::Op::kFlowRun || action.op == session::Op::kFlowCancel;
  calls_.push_back({action.envelope.id, cancel, outlives});
  tasks_.spawn(run_call(std::move(action)), std::move(cancel));
}

base::Task<void> Run::run_call(session::Request request) {
  // One that comes after the tool's end would be an exception else, with nobody
  // to catch it.
  co_await asio::this_coro::throw_if_cancelled(false);
  Ulid id = request.envelope.id;
  Events events(*this, id);
  Answer answer = co_await services_.operations.run(base::RequestContext{}, caller_, request.op,
                                                    std::move(request.envelope), events);
  std::erase_if(calls_, [&](const Call& one) { return one.id == id; });
  // A call that was cancelled has its answer too, and waits for it like others.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  // Records are numbered when they are made, so this is before.
  if (turns_.is_free() || co_await turns_.take()) finish_call(id, std::move(answer));
}

Outcome<session::Frame> Run::encode(const Ulid& id, Payload payload) {
  if (auto* written = std::get_if<WrittenPayload>(&payload)) {
    return session_.encode_written(id, *written);
  }
  return session_.encode_result(id, std::get<base::json::Object>(std::move(payload)));
}

void Run::finish_call(const Ulid& id, Answer answer) {
  auto frame =
      answer ? encode(id, std::move(*answer))
             : session_.encode_error(id, answer.error().fault, std::move(answer.error().data));
  if (!frame) {
    Fault fault = std::move(frame).error();
    log_.error("an answer cannot be written",
               {{"code", name(fault.code)}, {"detail", fault.detail}});
    frame = session_.encode_error(id, fault);
  }
  if (frame) send(std::move(*frame));
  perform(session_.end_if_refused_too_often());
}

void Run::perform(session::Cancel action) {
  auto found = std::ranges::find(calls_, action.id, &Call::id);
  if (found == calls_.end()) return;
  auto cancel = found->cancel;  // The call may be forgotten while it is cancelled.
  cancel->emit(asio::cancellation_type::terminal);
}

// The times only move on, so the first one is waited for and then asked again.
base::Task<void> Run::keep_time() {
  while (!ending_) {
    auto timer = session_.timer();
    if (!timer) co_return;
    auto wait = timer->at - services_.clock.now();
    if (wait <= std::chrono::microseconds(0)) {
      perform(session_.on_time());
      continue;
    }
    timer_.expires_after(wait);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

bool Run::may_log() const {
  return caller_ || services_.strangers->allows(std::chrono::steady_clock::now());
}

void Run::log_end() const {
  if (!may_log()) return;
  const auto& closure = connection_->closure();
  log_.info("session ended", {{"close_code", closure.code},
                              {"reason", closure.reason},
                              {"how", how_it_ended(closure.end)},
                              {"peer", connection_->peer()}});
}

bool StrangerLog::allows(std::chrono::steady_clock::time_point now) {
  if (now - since_ >= std::chrono::seconds(1)) {
    since_ = now;
    lines_ = 0;
  }
  if (lines_ >= kLines) {
    ++left_out_;
    return false;
  }
  ++lines_;
  if (left_out_ > 0) {
    log_.info("lines about strangers left out", {{"count", std::exchange(left_out_, 0)}});
  }
  return true;
}

SessionMetrics::SessionMetrics(base::metrics::Registry& registry)
    : sessions(registry.gauge("securetool_sessions", "Connections that are open.")),
      opened(registry.counter("securetool_sessions_opened_total", "Sessions that became READY.")),
      refused(registry.counter("securetool_sessions_refused_total",
                               "Sessions that ended with a refusal.")) {}

base::Task<void> run_session(const SessionServices& services,
                             std::unique_ptr<base::ws::Connection> connection,
                             session::Channel channel) {
  auto loop = co_await asio::this_coro::executor;
  Run run(services, std::move(connection), std::move(channel), loop);
  co_await run.serve();
}

}  // namespace tool::transport
