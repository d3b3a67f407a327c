#pragma once

// The working part of a connection: reads, answers control frames, writes what
// is queued, watches the times. It is shared by the connection's owner and by
// the tasks that still finish the close handshake when that owner is gone.
//
// States, by two flags: `closure_.end` says why it ends, once it does;
// `done_` says that nothing more is read. Between the two, the close handshake
// is under way: our close frame is queued, the peer's is awaited.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/http/byte_stream.h"
#include "base/websocket/connection.h"
#include "base/websocket/message_decoder.h"
#include "base/websocket/send_queue.h"

namespace base::ws {

class Core final : public std::enable_shared_from_this<Core> {
 public:
  struct Setup {
    Sender self;
    boost::asio::any_io_executor executor;
    ConnectionOptions options;
    Random* random;        ///< For a client's masks; the system's when null.
    std::string received;  ///< After the handshake.
    std::string subprotocol;
  };
  /// Borrows the stream until detach().
  [[nodiscard]] static std::shared_ptr<Core> borrow(http::ByteStream& stream, Setup setup);
  /// Keeps the stream, and finishes by itself when its owner drops it.
  [[nodiscard]] static std::shared_ptr<Core> own(std::unique_ptr<http::ByteStream> stream,
                                                 Setup setup);

  // As in Connection. `self` keeps this alive while the caller waits.
  static Task<Result<Message>> receive(std::shared_ptr<Core> self);
  static Task<Status> drained(std::shared_ptr<Core> self);
  Status send(Message message);
  [[nodiscard]] std::size_t queued() const { return queue_.bytes() + in_flight_; }
  void close(std::uint16_t code, std::string_view reason);
  void abort();
  void set_message_limit(std::size_t bytes, std::uint16_t code);
  void vouch();
  void set_close_time(std::chrono::milliseconds time) { options_.close_time = time; }
  void on_drain(std::function<void()> call);
  [[nodiscard]] const Closure& closure() const { return closure_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  [[nodiscard]] bool encrypted() const { return encrypted_; }
  [[nodiscard]] const std::string& subprotocol() const { return subprotocol_; }
  [[nodiscard]] const std::optional<PeerCertificate>& certificate() const { return certificate_; }
  [[nodiscard]] Result<std::string> exporter(std::string_view label, std::size_t length) const;
  [[nodiscard]] Result<std::string> certificate_hash() const;

  /// The owner is gone.
  void drop();
  /// Closes if still open, writes what is queued and finishes the handshake,
  /// within close_time; then lets go of the stream. Not to be cancelled.
  static Task<void> finish(std::shared_ptr<Core> self);

  Core(http::ByteStream& stream, std::unique_ptr<http::ByteStream> owned, Setup setup);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  void start();

  // Reading.
  [[nodiscard]] std::optional<Result<Message>> act_on(MessageDecoder::Event event);
  void on_peer_close(const ClosePayload& close);
  void on_violation(Violation violation);
  [[nodiscard]] Task<bool> fill();
  void resize_buffer();
  [[nodiscard]] Error error() const;

  // Writing.
  void schedule_flush();
  void flush();
  void queue_pong();
  static Task<void> write_all(std::shared_ptr<Core> self);
  [[nodiscard]] Task<bool> write_piece(SendQueue::Piece piece);

  // Ending.
  void begin_close(End end, std::uint16_t code, std::string_view reason);
  void cut(End end);
  [[nodiscard]] Task<void> wait_for_change();
  void changed();

  // Time.
  void arm(TimePoint at);
  void on_timer();
  [[nodiscard]] TimePoint check_silence(TimePoint now);

  std::unique_ptr<http::ByteStream> owned_;
  http::ByteStream* stream_;  ///< Null once detached.
  boost::asio::any_io_executor executor_;
  ConnectionOptions options_;
  std::string peer_;
  bool encrypted_;
  std::string subprotocol_;
  std::optional<PeerCertificate> certificate_;

  MessageDecoder decoder_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t last_read_ = 0;
  std::string early_;        ///< Received with the handshake.
  std::string_view unused_;  ///< Of buffer_ or early_: received, not yet decoded.
  bool reading_ = false;
  TimePoint heard_;

  SystemRandom system_random_;
  SendQueue queue_;
  std::size_t in_flight_ = 0;  ///< Bytes that write_all() has taken out of the queue.
  bool writing_ = false;
  bool flush_posted_ = false;
  TimePoint write_began_;
  std::optional<std::string> pong_;  ///< Only the last ping must be answered: section 5.5.3.

  Closure closure_;
  bool done_ = false;
  bool cut_ = false;  ///< The stream has been aborted.
  bool dropped_ = false;
  TimePoint close_began_ = TimePoint::max();  ///< max: our close frame is not queued.

  boost::asio::steady_timer timer_;
  TimePoint armed_ = TimePoint::max();
  std::unique_ptr<boost::asio::steady_timer> change_;
};

}  // namespace base::ws
