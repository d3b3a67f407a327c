#pragma once

// The class behind run_session(), in two files: session_run.cc moves messages and
// requests, session_login.cc knows who the client is and for how long.

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/runtime/task_group.h"
#include "toolserver/session/server_session.h"
#include "toolserver/transport/send_turns.h"
#include "toolserver/transport/session_run.h"

namespace tool::transport {

namespace asio = boost::asio;
namespace ws = base::ws;

// Beyond it progress is dropped, and answers and chunks wait until the client
// has read: one that reads is never cut for what others of its calls sent.
inline constexpr std::size_t kBusyQueueBytes = 256 << 10;
static_assert(kBusyQueueBytes < kQueueHeadroom / 2);

// Belongs to one event loop and to the frame of run_session, which outlives
// every task started here.
class Run {
 public:
  Run(const SessionServices& services, std::unique_ptr<ws::Connection> connection,
      session::Channel channel, const asio::any_io_executor& loop)
      : services_(services),
        connection_(std::move(connection)),
        session_(services.context, std::move(channel)),
        turns_(*connection_, kBusyQueueBytes, loop),
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
  [[nodiscard]] Outcome<std::optional<Followed>> take_former(CredentialCheck::Presented& shown);
  [[nodiscard]] bool is_lost() const;
  void keep_for_reconnection();
  base::Task<void> recheck();
  void start_recheck();
  void enter(const CredentialCheck::Presented& shown, std::string_view follows);
  [[nodiscard]] SessionControl make_control();
  base::Task<void> run_call(session::Request request);
  base::Task<void> keep_time();
  [[nodiscard]] Outcome<session::Frame> encode(const Ulid& id, Payload payload);
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
  SendTurns turns_;
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
  Ulid kept_;                      // The session token by which the session can be followed.
  bool is_login_refused_ = false;  // Recorded as that, and not as the end that follows.
};

}  // namespace tool::transport
