#pragma once

// A server at a URL: each request is a POST of its own, whose answer is one
// message or a stream of events that ends with it. A server of the older era may
// end the stream before, and is asked for the rest. What is secret goes to this
// one origin: no redirect is followed, and no other address is ever taken from
// what the server says.
// Sources: Model Context Protocol 2026-07-28 and 2025-11-25, "Streamable HTTP".

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "toolserver/mcp_bridge/server_link.h"
#include "toolserver/mcp_login/login.h"

namespace tool::bridge {

struct HttpLinkOptions {
  std::string url;
  std::vector<std::pair<std::string, base::Secret>> headers;
  std::string ca_file;                        ///< The system's roots when empty.
  std::chrono::milliseconds timeout{60'000};  ///< Between two pieces of an answer.
  /// Where the server asks for a login; null: a refusal is one.
  std::shared_ptr<login::Login> login = {};
  /// Of the older era, where another link has agreed on it: requests carry it.
  std::string session = {};
  /// Where messages over HttpLink::kReadHere are read instead of on the link's own loop,
  /// where others wait meanwhile; empty: nowhere.
  boost::asio::any_io_executor reader = {};
};

class HttpLink final : public ServerLink {
 public:
  static constexpr std::size_t kWaiting = 64;  ///< Requests at once.
  static constexpr std::size_t kReadHere = 64 << 10;
  /// Events of one answer, and requests of the server among them.
  static constexpr std::size_t kEvents = 10'000;
  static constexpr std::size_t kRequests = 64;
  /// How often the rest of one answer is asked for, and how long a server may
  /// have us wait before.
  static constexpr std::size_t kResumes = 8;
  static constexpr std::chrono::milliseconds kResumeTime{1'000};  ///< Where it does not say.
  static constexpr std::chrono::milliseconds kLongestResumeTime{60'000};
  /// How often one request is made again with another token.
  static constexpr std::size_t kRenewals = 3;

  /// On the caller's event loop, which `loop` is.
  /// With a login, requests fail as Login::renew() does, and with E_POLICY where
  /// a server refuses every token.
  /// Errors: kInvalid  the URL; kForbidden  plaintext to another machine.
  [[nodiscard]] static base::Result<std::unique_ptr<HttpLink>> create(
      HttpLinkOptions options, LinkEvents events, boost::asio::any_io_executor loop);
  ~HttpLink() override;

  [[nodiscard]] base::Task<Outcome<Reply>> ask(mcp::Request request, HeaderValues headers,
                                               base::Deadline deadline) override;
  [[nodiscard]] base::Task<void> tell(mcp::Notification notification,
                                      base::Deadline deadline) override;
  [[nodiscard]] base::Task<void> listen(base::Deadline deadline) override;
  void speak(mcp::Revision revision) override;
  /// Of the older era; empty where the server has given none.
  [[nodiscard]] const std::string& session() const;
  void close() override;
  [[nodiscard]] base::Task<void> finish() override;

 private:
  struct State;
  explicit HttpLink(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace tool::bridge
