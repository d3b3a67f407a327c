#pragma once

// One request while it runs: its work, what it tells its client meanwhile, and
// what it asks of it.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/runtime/task.h"
#include "toolserver/mcp_ingress/client_session.h"
#include "toolserver/mcp_ingress/client_side.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/feed.h"

namespace tool::mcp_ingress {

/// Belongs to its event loop.
class Exchange final : public ClientSide, public std::enable_shared_from_this<Exchange> {
 public:
  static constexpr std::chrono::minutes kAnswerTime{5};  ///< For a person.

  enum class Questions : std::uint8_t { kNone, kToClient };

  /// What is told and asked goes to `out`. `session` cancels by id and takes the
  /// answers; without one, null, there are neither.
  Exchange(std::shared_ptr<Feed> out, std::shared_ptr<ClientSession> session, Questions questions)
      : out_(std::move(out)), session_(std::move(session)), questions_(questions) {}

  /// Begins the work; `done` is called with its reply, on the loop, later.
  void start(mcp::RequestId id, base::Task<Reply> work, std::function<void(Reply)> done);
  /// Ends the work early; its reply comes anyway.
  void cancel() { stop_.emit(boost::asio::cancellation_type::all); }

  void tell(mcp::Notification notification) override;
  [[nodiscard]] bool can_be_asked() const override {
    return session_ != nullptr && questions_ == Questions::kToClient;
  }
  /// One after another.
  [[nodiscard]] base::Task<Outcome<base::json::Object>> ask(base::json::Object questions) override;

 private:
  [[nodiscard]] base::Task<Outcome<base::json::Object>> ask_one(std::string method,
                                                                base::json::Object params);

  const std::shared_ptr<Feed> out_;
  const std::shared_ptr<ClientSession> session_;
  const Questions questions_;
  boost::asio::cancellation_signal stop_;
};

}  // namespace tool::mcp_ingress
