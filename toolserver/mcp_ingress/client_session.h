#pragma once

// What an `initialize` leaves behind, for clients of the older revisions: what
// the client can do, what it wants to hear of, and which questions to it are
// open. A session tells calls apart and authenticates nobody: each request
// brings its own credential, and is of the principal that opened it or is none
// of the session's.
// Source: Model Context Protocol 2025-11-25, "Lifecycle", "Session management".

#include <atomic>
#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp/revision.h"
#include "toolserver/model/fault.h"

namespace tool::mcp_ingress {

/// Safe to use from any thread.
class ClientSession {
 public:
  static constexpr std::size_t kMostSubscriptions = 256;
  static constexpr std::size_t kMostQuestions = 32;
  static constexpr int kEverything = 0;  ///< See mcp::severity().

  struct Facts {
    std::string id;         ///< Empty: of a connection that has no more than one.
    std::string principal;  ///< pipeline::key_of().
    mcp::Revision revision = mcp::kNewestWithSessions;
    base::json::Object capabilities;
  };
  explicit ClientSession(Facts facts) : facts_(std::move(facts)) {}

  [[nodiscard]] const Facts& facts() const { return facts_; }

  /// The least severity that is told.
  [[nodiscard]] int log_floor() const { return log_floor_; }
  void set_log_floor(int floor) { log_floor_ = floor; }

  /// Errors: E_LIMIT  as many as it may have.
  [[nodiscard]] Outcome<void> subscribe(const std::string& uri);
  void unsubscribe(const std::string& uri);
  [[nodiscard]] bool is_subscribed(const std::string& uri) const;

  /// A question to the client. `answered` is called once at most, on the thread
  /// that has the answer: it posts, and does no more.
  using Answered = std::function<void(std::expected<base::json::Object, mcp::RpcError>)>;
  /// Errors: E_BUSY  too many at once.
  [[nodiscard]] Outcome<mcp::RequestId> expect(Answered answered);
  void forget(const mcp::RequestId& id);
  /// False: nobody asked, or not any more.
  bool answer(const mcp::RequestId& id, std::expected<base::json::Object, mcp::RpcError> answer);

  /// A request that runs, for notifications/cancelled; `cancel` posts likewise.
  void begin(const mcp::RequestId& id, std::function<void()> cancel);
  void end(const mcp::RequestId& id);
  void cancel(const mcp::RequestId& id);

 private:
  const Facts facts_;
  std::atomic<int> log_floor_ = kEverything;
  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::set<std::string> subscriptions_;
  std::int64_t questions_asked_ = 0;
  std::map<mcp::RequestId, Answered> questions_;
  std::map<mcp::RequestId, std::function<void()>> running_;
};

/// The sessions of all event loops. Safe to use from any thread.
class ClientSessions {
 public:
  struct Limits {
    std::size_t all = 10'000;
    std::size_t of_principal = 64;  ///< The oldest goes for one more.
    std::chrono::minutes idle{60};
  };
  /// Both outlive it.
  ClientSessions(const base::Clock& clock, base::Random& random)
      : ClientSessions(clock, random, Limits{}) {}
  ClientSessions(const base::Clock& clock, base::Random& random, Limits limits)
      : clock_(clock), random_(random), limits_(limits) {}

  /// With an id that nobody can guess. Errors: E_BUSY  as many as there may be.
  [[nodiscard]] Outcome<std::shared_ptr<ClientSession>> open(ClientSession::Facts facts);
  /// Null: there is none, or it is another principal's, or was idle for too long.
  [[nodiscard]] std::shared_ptr<ClientSession> find(const std::string& id,
                                                    const std::string& principal);
  /// False as find() is null.
  bool close(const std::string& id, const std::string& principal);

 private:
  struct Entry {
    std::shared_ptr<ClientSession> session;
    base::WallTime used;
  };
  void drop_idle(base::WallTime now);
  void make_room(const std::string& principal);

  const base::Clock& clock_;
  base::Random& random_;
  const Limits limits_;
  std::mutex mutex_;
  std::map<std::string, Entry> sessions_;  // Guarded by mutex_.
};

}  // namespace tool::mcp_ingress
