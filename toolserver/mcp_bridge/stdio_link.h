#pragma once

// A server that is a program: one process, a message on each line, answers in
// any order. Whoever sends what is no message, too much of it, or nothing for
// as long as we write, is ended.

#include <map>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/runtime/workers.h"
#include "toolserver/isolate/child_process.h"
#include "toolserver/mcp_bridge/server_link.h"

namespace tool::bridge {

class StdioLink final : public ServerLink {
 public:
  static constexpr std::size_t kWaiting = 256;           ///< Requests without an answer.
  static constexpr std::size_t kOutboxBytes = 16 << 20;  ///< Not written yet.
  static constexpr std::chrono::seconds kWriteTime{10};  ///< For one line.

  /// Starts the program on the caller's event loop. `pool` outlives the link.
  /// Errors: those of ChildProcess::start().
  [[nodiscard]] static base::Task<base::Result<std::unique_ptr<StdioLink>>> start(
      isolate::ChildOptions options, base::BlockingPool& pool, LinkEvents events);
  /// After finish(), or with nothing that ran.
  ~StdioLink() override;

  [[nodiscard]] base::Task<Outcome<Reply>> ask(mcp::Request request, HeaderValues headers,
                                               base::Deadline deadline) override;
  [[nodiscard]] base::Task<void> tell(mcp::Notification notification,
                                      base::Deadline deadline) override;
  void close() override;
  [[nodiscard]] base::Task<void> finish() override;

  [[nodiscard]] std::string last_words() const override;

  /// Walls that the kernel does not have, by name.
  [[nodiscard]] const std::vector<std::string>& missing_walls() const;

 private:
  struct State;
  explicit StdioLink(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static base::Task<void> read(std::shared_ptr<State> state);
  static base::Task<void> write(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace tool::bridge
