#pragma once

// What the connections of one worker share. They live on one thread, so there
// is no lock here. A timer of its own for each wait would cost more than the
// wait: instead each connection notes its deadline, and one sweep per lane
// looks at all of them a few times per shortest limit.

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <variant>

#include "base/core/clock.h"
#include "base/http/body_stream.h"
#include "base/http/response_head.h"
#include "base/http/server.h"

namespace base::http {

/// Counts what must end before its owner may. Safe from any thread.
class Census {
 public:
  void enter();
  void leave();
  [[nodiscard]] std::size_t count() const;
  void wait_until_empty();
  /// False when `deadline` came first.
  [[nodiscard]] bool wait_until_empty(std::chrono::steady_clock::time_point deadline);

 private:
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  std::size_t count_ = 0;
};

/// What a lane does to its connections. Called on the lane's worker.
class LaneMember : public boost::intrusive::list_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual ~LaneMember() = default;
  /// The deadline passed: the operation under way ends, the connection decides.
  virtual void interrupt() = 0;
  /// Closes now, whatever is under way.
  virtual void abort() = 0;
  /// Closes the socket, which ends what is under way on it; whoever waits for
  /// something else is not cancelled, as by abort().
  virtual void close_now() = 0;

  Deadline deadline = Deadline::max();
  bool resting = false;  ///< Waits for a request of which no byte has come.
  /// Set once the connection has left HTTP: told when the server stops.
  std::function<void()> on_drain;
};

using AnyHandler = std::variant<Handler, StreamHandler>;

class Lane {
 public:
  Lane(boost::asio::io_context& loop, AnyHandler handler, const ServerLimits& limits,
       const Refusal& refusal, Census& connections, Census& sweeps);

  [[nodiscard]] boost::asio::io_context& loop() { return loop_; }
  /// Not of a lane that streams.
  [[nodiscard]] const Handler& handler() const { return *std::get_if<Handler>(&handler_); }
  /// Null where bodies are whole.
  [[nodiscard]] const StreamHandler* stream_handler() const {
    return std::get_if<StreamHandler>(&handler_);
  }
  [[nodiscard]] const ServerLimits& limits() const { return limits_; }
  [[nodiscard]] const Refusal& refusal() const { return refusal_; }
  /// Connections of all lanes. A connection is counted before it is spawned.
  [[nodiscard]] Census& connections() { return connections_; }

  /// Starts the sweep; call once, from any thread, before connections come.
  void start();

  // The rest is for the worker's thread.

  void join(LaneMember& member) { members_.push_back(member); }
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] std::string_view date(std::chrono::steady_clock::time_point now) {
    return date_.at(now);
  }
  [[nodiscard]] std::uint64_t random_id();

  /// No new requests from here on; resting connections end, upgraded ones are
  /// told.
  void drain();
  void abort_all();
  void stop_sweep();

 private:
  Task<void> sweep();

  boost::asio::io_context& loop_;
  AnyHandler handler_;
  const ServerLimits& limits_;
  const Refusal& refusal_;
  Census& connections_;
  Census& sweeps_;

  boost::intrusive::list<LaneMember, boost::intrusive::constant_time_size<false>> members_;
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds period_;
  bool draining_ = false;
  bool stopped_ = false;
  DateCache date_;
  SystemRandom random_;
  std::array<std::uint64_t, 64> ids_{};
  std::size_t ids_left_ = 0;
};

}  // namespace base::http
