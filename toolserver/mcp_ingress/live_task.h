#pragma once

// A call whose request was answered before it ended: it goes on without a
// connection, tells its owner how far it is, and asks him through tasks/update.
// Until it has been handed over it is a call like others, whose client waits.
// Source: MCP extension io.modelcontextprotocol/tasks (SEP-2663).

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/mcp_ingress/client_side.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/providers.h"
#include "toolserver/mcp_ingress/task_view.h"

namespace tool::mcp_ingress {

/// Belongs to the event loop of the request that began it, but for what says
/// otherwise.
class LiveTask final : public ClientSide, public std::enable_shared_from_this<LiveTask> {
 public:
  /// What ends with the process, and what has a record that goes on: a call that ended
  /// with a refusal is over in the one case, and waits for its owner in the other.
  enum class Lasts : std::uint8_t { kNo, kByItsRecord };

  struct Facts {
    std::string id;         ///< A ULID: of the call, too.
    std::string principal;  ///< pipeline::key_of().
    Caller creator;
    std::string scope;  ///< That a call of the tool needs.
    Lasts lasts = Lasts::kNo;
    base::WallTime created{};
    std::chrono::milliseconds life{};
    base::Deadline deadline{};  ///< For answers to its questions.
  };
  /// `asked_by` is told what is told before it is handed over. `on_change` is called on
  /// any thread after what view() says has changed. The clock outlives it.
  LiveTask(Facts facts, const base::Clock& clock, boost::asio::any_io_executor loop,
           std::shared_ptr<ClientSide> asked_by, std::function<void()> on_change);

  /// Begins the work; `ended` is called on the loop when nothing is left of it.
  void start(base::Task<Reply> work, std::function<void()> ended);
  /// The reply of one that ends soon; else nothing, and it has been handed over: at
  /// `deadline`, or when it told for the first time how far it is. Whoever is cancelled
  /// here ends it, and gets its reply.
  [[nodiscard]] base::Task<std::optional<Reply>> hand_over(base::Deadline deadline);
  /// Likewise, without waiting: of one that goes on from its record.
  void hand_over_now();
  /// Until it ends, tells how far it is, or the deadline.
  /// False: whoever waits was cancelled.
  [[nodiscard]] base::Task<bool> wait_for_news(base::Deadline deadline);
  /// How far the call is.
  [[nodiscard]] Progress progress();

  void tell(mcp::Notification notification) override;
  [[nodiscard]] bool can_be_asked() const override { return handed_over_; }
  [[nodiscard]] base::Task<Outcome<base::json::Object>> ask(base::json::Object questions) override;

  // From any thread:

  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] TaskView view() const;
  /// Answers by the names of the questions; what is not asked is ignored.
  void answer(const base::json::Object& responses);
  /// Ends the work.
  enum class By : std::uint8_t { kOwner, kService };
  void cancel(By who);
  [[nodiscard]] bool has_ended() const;
  /// It ended, and its record has more to come, or was not to be read.
  [[nodiscard]] bool waits() const;
  /// What it keeps in memory, about.
  [[nodiscard]] std::size_t bytes() const;

 private:
  void end(Reply reply);
  void wake();
  [[nodiscard]] std::string name_for(std::string_view question);
  [[nodiscard]] TaskView base_view() const;
  [[nodiscard]] TaskView ended_view() const;

  const Facts facts_;
  const base::Clock& clock_;
  const boost::asio::any_io_executor loop_;
  const std::function<void()> on_change_;
  std::shared_ptr<ClientSide> asked_by_;  ///< Null once it is handed over.
  boost::asio::cancellation_signal stop_;
  boost::asio::steady_timer answered_;  ///< Of its questions.
  boost::asio::steady_timer news_;
  bool handed_over_ = false;
  bool is_due_ = false;          ///< It told how far it is.
  std::set<std::string> names_;  ///< Of questions, which are never used twice.

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::string message_;
  base::WallTime updated_;
  base::json::Object questions_;
  base::json::Object answers_;
  std::optional<Reply> reply_;
  std::size_t bytes_ = 0;
  bool is_cancelled_ = false;  // By its owner.
};

}  // namespace tool::mcp_ingress
