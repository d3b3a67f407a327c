#include "toolserver/transport/session_run.h"

#include <algorithm>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/runtime/task_group.h"
#include "toolserver/session/close_code.h"
#include "toolserver/session/server_session.h"

namespace tool::transport {
namespace {

namespace asio = boost::asio;
namespace ws = base::ws;

// Beyond it progress is dropped, and answers and chunks wait until the client
// has read: one that reads is never cut for what others of its calls sent.
constexpr std::size_t kBusyQueueBytes = 256 << 10;
static_assert(kBusyQueueBytes < kQueueHeadroom / 2);
constexpr std::chrono::seconds kVerifyTime{10};
// For the close handshake of one who is known. A stranger has less, as the
// endpoint sets it: a close must not give it as long again as it had.
constexpr std::chrono::seconds kCloseTime{5};

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

// Belongs to one event loop and to the frame of run_session, which outlives
// every task started here.
class Run {
 public:
  Run(const SessionServices& services, std::unique_ptr<ws::Connection> connection,
      session::Channel channel, const asio::any_io_executor& loop)
      : services_(services),
        connection_(std::move(connection)),
        session_(services.context, std::move(channel)),
        log_(services.log.for_request(std::string(session_.id().text()))),
        tasks_(loop),
        timer_(loop),
        self_(std::make_shared<Run*>(this)) {}

  base::Task<void> serve();

 private:
  // A request that runs, and the way to end it.
  struct Call {
    Ulid id;
    std::shared_ptr<asio::cancellation_signal> cancel;
    bool outlives = false;  // A connection that was lost: section 9.1.
  };
  class Events;

  void perform(session::ServerActions actions);
  void perform(session::Send action) { send(std::move(action.frame)); }
  void perform(session::VerifyCredential action);
  void perform(session::Request action);
  void perform(session::Cancel action);
  void perform(session::Close action);
  void send(session::Frame frame);

  base::Task<void> verify(session::VerifyCredential action);
  base::Task<void> recheck();
  void start_recheck();
  void enter(const CredentialCheck::Presented& shown);
  [[nodiscard]] SessionControl make_control();
  base::Task<void> run_call(session::Request request);
  base::Task<void> keep_time();
  [[nodiscard]] bool has_room() const;
  base::Task<bool> room();
  void finish_call(const Ulid& id, Answer answer);
  void cancel_calls();
  void leave_calls();
  [[nodiscard]] bool may_log() const;
  void log_end() const;
  void record(std::string_view act, std::string_view code, base::json::Object details = {});

  const SessionServices& services_;
  std::unique_ptr<ws::Connection> connection_;
  std::unique_ptr<ConnectionCounts::Place> place_;  // From READY on.
  session::ServerSession session_;
  base::log::Logger log_;
  base::TaskGroup tasks_;
  asio::steady_timer timer_;
  std::vector<Call> calls_;
  std::shared_ptr<asio::cancellation_signal> verification_;  // Of the last one.
  std::shared_ptr<asio::cancellation_signal> rechecking_;    // Likewise.
  std::shared_ptr<const Caller> caller_;
  std::optional<CredentialCheck::Presented> shown_;  // What opened it, or refreshed it last.
  std::optional<OpenSessions::Entry> entry_;         // From READY on.
  std::shared_ptr<Run*> self_;                       // Gone with this, for those on other threads.
  bool ending_ = false;
  bool is_login_refused_ = false;  // Recorded as that, and not as the end that follows.
};

class Run::Events final : public EventSink {
 public:
  Events(Run& run, const Ulid& id) : run_(run), id_(id) {}

  void progress(base::json::Object payload) override {
    if (run_.connection_->queued() > kBusyQueueBytes) return;
    emit(session::Op::kProgress, std::move(payload));
  }

  base::Task<Outcome<void>> chunk(base::json::Object payload) override {
    if (!co_await run_.room()) co_return refuse(Code::kCancelled, "the connection has ended");
    emit(session::Op::kChunk, std::move(payload));
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
  // The tasks below hold references into this frame.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
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

// The connection has ended. Whoever only lost it comes back for the calls that
// have a key, by which they are found again.
void Run::leave_calls() {
  auto end = connection_->closure().end;
  bool is_lost = end == ws::End::kLost || end == ws::End::kClosedByPeer || end == ws::End::kIdle ||
                 end == ws::End::kSlowConsumer;
  if (!is_lost || session_.state() == session::ServerState::kDraining) return cancel_calls();
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
  if (!action.reason.empty()) {
    services_.metrics.refused.add();
    if (may_log()) {
      log_.info("session refused", {{"code", action.reason}, {"peer", connection_->peer()}});
    }
    if (!is_login_refused_) record("session_refused", action.reason);
  }
  connection_->close(action.code, std::move(action.reason));
}

// Cancelled with the connection, so that one who left holds no place while
// somebody far away is asked about him.
void Run::perform(session::VerifyCredential action) {
  verification_ = std::make_shared<asio::cancellation_signal>();
  tasks_.spawn(verify(std::move(action)), verification_);
}

base::Task<void> Run::verify(session::VerifyCredential action) {
  // A cancellation is an answer like any other.
  co_await asio::this_coro::throw_if_cancelled(false);
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + kVerifyTime;
  CredentialCheck::Presented presented{
      .method = action.method, .credential = std::move(action.credential), .th1 = action.th1};
  presented.proved.key = std::move(action.holder);
  if (const auto& certificate = connection_->peer_certificate()) {
    presented.proved.certificate = certificate->thumbprint;
    presented.certificate_subject = certificate->subject;
    presented.certificate_end = certificate->expires_at;
  }
  auto principal = co_await services_.credentials().verify(context, presented);
  if (ending_) co_return;
  if (principal && action.purpose == session::VerifyCredential::Purpose::kAuth) {
    if (auto place = services_.counts.enter(*principal)) {
      place_ = std::move(*place);
      connection_->vouch();
      connection_->set_close_time(kCloseTime);
    } else {
      principal = std::move(place).error();
    }
  }
  if (!principal) {
    if (may_log()) {
      log_.info("credential refused", {{"code", name(principal.error().code)},
                                       {"method", name(action.method)},
                                       {"peer", connection_->peer()},
                                       {"detail", principal.error().detail}});
    }
    is_login_refused_ = action.purpose == session::VerifyCredential::Purpose::kAuth;
    record("login_refused", name(principal.error().code), {{"method", name(action.method)}});
    perform(session_.on_refused(std::move(principal).error()));
    co_return;
  }
  std::string subject = principal->subject, token_id = principal->token_id;
  perform(session_.on_verified(std::move(*principal)));
  // A refresh that was refused leaves the session with the credential it had.
  const auto& in_force = session_.principal();
  if (!in_force || in_force->subject != subject || in_force->token_id != token_id) co_return;
  caller_ = std::make_shared<const Caller>(
      Caller{*session_.principal(), std::string(session_.id().text()), connection_->peer()});
  enter(presented);
}

void Run::enter(const CredentialCheck::Presented& shown) {
  shown_ = shown;
  const Principal& principal = caller_->principal;
  if (entry_) {
    entry_->set_token_id(principal.token_id);
    return;
  }
  OpenSession session{caller_->session_id,  principal.subject, principal.issuer,
                      principal.token_id,   principal.method,  caller_->peer,
                      services_.clock.now()};
  entry_.emplace(services_.sessions, std::move(session), make_control());
  services_.metrics.opened.add();
  log_.info("session ready", {{"subject", principal.subject},
                              {"method", name(principal.method)},
                              {"token", principal.token_id},
                              {"peer", caller_->peer}});
  record("session_opened", "ok", {{"method", name(principal.method)}});
}

SessionControl Run::make_control() {
  auto on_loop = [loop = timer_.get_executor(), weak = std::weak_ptr<Run*>(self_)](auto act) {
    asio::post(loop, [weak, act] {
      if (auto run = weak.lock()) act(**run);
    });
  };
  return {.end =
              [on_loop](Code code) {
                on_loop([code](Run& run) {
                  run.perform(run.session_.end(code));
                  if (run.ending_) run.cancel_calls();
                });
              },
          .recheck = [on_loop] { on_loop([](Run& run) { run.start_recheck(); }); }};
}

void Run::start_recheck() {
  if ((ending_ && calls_.empty()) || !shown_) return;
  rechecking_ = std::make_shared<asio::cancellation_signal>();
  tasks_.spawn(recheck(), rechecking_);
}

// Ends the session when its credential would not open it any more, or would open
// less. One past its time needs no end: its calls are refused already. Where the
// provider cannot be asked, the next refresh decides.
base::Task<void> Run::recheck() {
  co_await asio::this_coro::throw_if_cancelled(false);
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + kVerifyTime;
  auto principal = co_await services_.credentials().verify(context, *shown_);
  bool taken_back = principal ? !caller_->principal.scopes.within(principal->scopes) ||
                                    !principal->details.admits(caller_->principal.details)
                              : principal.error().code == Code::kAuth;
  if (!taken_back) co_return;
  perform(session_.end(Code::kAuth));
  if (ending_) cancel_calls();
}

void Run::perform(session::Request action) {
  auto cancel = std::make_shared<asio::cancellation_signal>();
  bool outlives = (action.op == session::Op::kInvoke && action.envelope.payload.contains("idem")) ||
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
  if (has_room() || co_await room()) finish_call(id, std::move(answer));
}

bool Run::has_room() const { return !ending_ && connection_->queued() <= kBusyQueueBytes; }

// Waits until the client has read what was sent before; false when nothing can
// be sent any more. Records are numbered when they are made, so this is before.
base::Task<bool> Run::room() {
  while (!ending_ && !has_room()) {
    if (!co_await connection_->drained()) co_return false;
  }
  co_return !ending_;
}

void Run::finish_call(const Ulid& id, Answer answer) {
  auto frame =
      answer ? session_.encode_result(id, std::move(*answer))
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

}  // namespace

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
