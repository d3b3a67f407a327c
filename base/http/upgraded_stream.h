#pragma once

// The server's connection as the stream that an upgrade takes over. Included by
// connection.cc alone, as the transport is.

#include <fmt/format.h>

#include <array>
#include <boost/asio/post.hpp>
#include <string>
#include <utility>

#include "base/http/admission_control.h"
#include "base/http/byte_stream.h"
#include "base/http/transport.h"

namespace base::http {

/// Borrows all four.
template <class Stream>
class UpgradedStream : public ByteStream {
 public:
  UpgradedStream(Lane& lane, Transport<Stream>& transport, const std::string& peer,
                 AdmissionControl::Place& place)
      : lane_(lane), transport_(transport), peer_(peer), place_(place) {}
  ~UpgradedStream() override { transport_.on_drain = nullptr; }
  UpgradedStream(const UpgradedStream&) = delete;
  UpgradedStream& operator=(const UpgradedStream&) = delete;

  Task<std::size_t> read(std::span<char> into) override { return transport_.read(into); }
  Task<bool> write(std::string_view head, std::string_view body) override {
    std::array<std::string_view, 2> pieces{head, body};
    co_return co_await transport_.write(pieces);
  }
  std::size_t write_now(std::string_view bytes) override { return transport_.write_now(bytes); }
  void abort() override { transport_.close_now(); }
  void vouch() override { place_.vouch(); }
  void on_drain(std::function<void()> call) override {
    // The server may have begun to stop while the 101 was sent.
    if (lane_.draining() && call) boost::asio::post(lane_.loop(), call);
    transport_.on_drain = std::move(call);
  }

  [[nodiscard]] const std::string& peer() const override { return peer_; }
  [[nodiscard]] SSL* tls() override { return transport_.tls(); }

 protected:
  [[nodiscard]] Transport<Stream>& transport() { return transport_; }
  [[nodiscard]] const ServerLimits& limits() const { return lane_.limits(); }

 private:
  Lane& lane_;
  Transport<Stream>& transport_;
  const std::string& peer_;
  AdmissionControl::Place& place_;
};

/// The body of an answer, in chunks. A client that takes none of a chunk for
/// `write_time` is gone.
template <class Stream>
class ChunkedStream final : public UpgradedStream<Stream> {
 public:
  using UpgradedStream<Stream>::UpgradedStream;

  Task<bool> write(std::string_view head, std::string_view body) override {
    if (head.empty() && body.empty()) co_return true;  // An empty chunk would be the last.
    std::string size = fmt::format("{:x}\r\n", head.size() + body.size());
    std::array<std::string_view, 4> pieces{size, head, body, "\r\n"};
    this->transport().limit(this->limits().write_time);
    bool written = co_await this->transport().write(pieces);
    this->transport().no_limit();
    co_return written;
  }
  std::size_t write_now(std::string_view /*bytes*/) override { return 0; }
};

}  // namespace base::http
