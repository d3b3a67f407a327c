#include "toolserver/transport/session_run.h"

#include <algorithm>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
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

// Progress is dropped beyond the first, chunks wait beyond the second.
constexpr std::size_t kProgressQueueBytes = 256 << 10;
constexpr std::size_t kChunkQueueBytes = 1 << 20;
constexpr std::chrono::seconds kVerifyTime{10};

ws::Message to_message(session::Frame frame) {
  auto kind = frame.kind == session::FrameKind::kText ? ws::Message::Kind::kText
                                                      : ws::Message::Kind::kBinary;
  return {kind, std::move(frame.bytes)};
}

// Belongs to one event loop and to the frame of run_session, which outlives
// every task started here.
class Run {
 public:
  Run(const SessionServices& services, std::unique_ptr<ws::Connection> connection,
      std::shared_ptr<ConnectionCounts::Place> place, session::Channel channel,
      const asio::any_io_executor& loop)
      : services_(services),
        connection_(std::move(connection)),
        place_(std::move(place)),
        session_(services.context, std::move(channel)),
        log_(services.log.for_request(std::string(session_.id().text()))),
        tasks_(loop),
        timer_(loop) {}

  base::Task<void> serve();

 private:
  // A request that runs, and the way to end it.
  struct Call {
    Ulid id;
    std::shared_ptr<asio::cancellation_signal> cancel;
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
  base::Task<void> run_call(session::Request request);
  base::Task<void> keep_time();
  void finish_call(const Ulid& id, Answer answer);
  void log_end() const;

  const SessionServices& services_;
  std::unique_ptr<ws::Connection> connection_;
  std::shared_ptr<ConnectionCounts::Place> place_;
  session::ServerSession session_;
  base::log::Logger log_;
  base::TaskGroup tasks_;
  asio::steady_timer timer_;
  std::vector<Call> calls_;
  std::shared_ptr<asio::cancellation_signal> verification_;  // Of the last one.
  std::shared_ptr<const Caller> caller_;
  bool ending_ = false;
};

class Run::Events final : public EventSink {
 public:
  Events(Run& run, const Ulid& id) : run_(run), id_(id) {}

  void progress(base::json::Object payload) override {
    if (run_.connection_->queued() > kProgressQueueBytes) return;
    emit(session::Op::kProgress, std::move(payload));
  }

  base::Task<Outcome<void>> chunk(base::json::Object payload) override {
    emit(session::Op::kChunk, std::move(payload));
    if (run_.connection_->queued() > kChunkQueueBytes) {
      auto drained = co_await run_.connection_->drained();
      if (!drained) co_return refuse(Code::kCancelled, "the connection has ended");
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
  connection_->on_drain([this] { perform(session_.begin_drain()); });
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
  // A call may end, and be forgotten, in the middle of its cancellation.
  for (const auto& call : std::exchange(calls_, {})) {
    call.cancel->emit(asio::cancellation_type::terminal);
  }
  if (verification_) verification_->emit(asio::cancellation_type::terminal);
  timer_.cancel();
  co_await tasks_.wait();
  services_.metrics.sessions.add(-1);
  log_end();
}

void Run::perform(session::ServerActions actions) {
  for (auto& action : actions) {
    std::visit([this](auto& one) { perform(std::move(one)); }, action);
  }
  // Also while receive() waits: the verification ends in a task of its own.
  connection_->set_message_limit(session_.message_limit(), session::kCloseTooLarge);
}

void Run::send(session::Frame frame) {
  // A send that fails ends the connection, which receive() reports.
  (void)connection_->send(to_message(std::move(frame)));
}

void Run::perform(session::Close action) {
  if (!action.reason.empty()) {
    services_.metrics.refused.add();
    log_.info("session refused", {{"code", action.reason}, {"peer", connection_->peer()}});
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
  CredentialCheck::Presented presented{action.method, std::move(action.credential), action.th1, {}};
  if (const auto& certificate = connection_->peer_certificate()) {
    presented.certificate_subject = certificate->subject;
  }
  auto principal = co_await services_.credentials.verify(context, std::move(presented));
  if (ending_) co_return;
  if (principal && action.purpose == session::VerifyCredential::Purpose::kAuth) {
    auto counted = place_->authenticated(principal->subject);
    if (!counted) principal = std::move(counted).error();
  }
  if (!principal) {
    log_.info("credential refused", {{"code", name(principal.error().code)},
                                     {"method", name(action.method)},
                                     {"peer", connection_->peer()},
                                     {"detail", principal.error().detail}});
    perform(session_.on_refused(std::move(principal).error()));
    co_return;
  }
  perform(session_.on_verified(std::move(*principal)));
  if (session_.principal()) {
    caller_ = std::make_shared<const Caller>(
        Caller{*session_.principal(), std::string(session_.id().text()), connection_->peer()});
    services_.metrics.opened.add();
    log_.info("session ready", {{"subject", caller_->principal.subject},
                                {"method", name(action.method)},
                                {"peer", connection_->peer()}});
  }
}

void Run::perform(session::Request action) {
  auto cancel = std::make_shared<asio::cancellation_signal>();
  calls_.push_back({action.envelope.id, cancel});
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
  if (!ending_) finish_call(id, std::move(answer));
}

void Run::finish_call(const Ulid& id, Answer answer) {
  auto frame =
      answer ? session_.encode_result(id, std::move(*answer))
             : session_.encode_error(id, answer.error().fault, std::move(answer.error().data));
  if (!frame) {
    log_.error("an answer cannot be written", {{"detail", frame.error().detail}});
    frame = session_.encode_error(id, refuse(Code::kInternal, "the answer cannot be written"));
  }
  if (frame) send(std::move(*frame));
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

void Run::log_end() const {
  const auto& closure = connection_->closure();
  log_.info(
      "session ended",
      {{"close_code", closure.code}, {"reason", closure.reason}, {"peer", connection_->peer()}});
}

}  // namespace

SessionMetrics::SessionMetrics(base::metrics::Registry& registry)
    : sessions(registry.gauge("securetool_sessions", "Connections that are open.")),
      opened(registry.counter("securetool_sessions_opened_total", "Sessions that became READY.")),
      refused(registry.counter("securetool_sessions_refused_total",
                               "Sessions that ended with a refusal.")) {}

base::Task<void> run_session(const SessionServices& services,
                             std::unique_ptr<base::ws::Connection> connection,
                             std::shared_ptr<ConnectionCounts::Place> place,
                             session::Channel channel) {
  auto loop = co_await asio::this_coro::executor;
  Run run(services, std::move(connection), std::move(place), std::move(channel), loop);
  co_await run.serve();
}

}  // namespace tool::transport
