#pragma once

// Between a model that wants to act and the act stands a person, where the
// tool's rule or the policy engine asks for one. Only this stage makes an
// Approved call, so a connector cannot be reached around it.

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/core/clock.h"
#include "base/runtime/task.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"
#include "toolserver/pipeline/consent_hook.h"
#include "toolserver/pipeline/guard.h"
#include "toolserver/pipeline/registry.h"

namespace tool {

struct ConsentOptions {
  std::chrono::milliseconds timeout{60'000};         ///< For a person to answer.
  std::chrono::milliseconds memory{12 * 3'600'000};  ///< An approval is forgotten after it.
  std::size_t remembered = 65'536;                   ///< Approvals; beyond it each call asks.
};

/// Safe to use from any event loop.
class ConsentStage {
 public:
  /// Without a hook, what needs consent is refused, unless the caller's own side can
  /// be asked. The clock outlives the stage.
  ConsentStage(std::shared_ptr<pipeline::ConsentHook> hook, ConsentOptions options,
               const base::Clock& clock)
      : hook_(std::move(hook)), options_(options), clock_(clock) {}

  struct Answer {
    Outcome<Approved<Invocation>> call;
    std::string note;  ///< For the audit: who agreed, or why nobody was asked.
    /// Of a hook that gave no answer: why, for the log. Empty after any answer.
    std::string hook_fault;
    std::chrono::microseconds waited{};
  };

  /// What needs no question, or can have none; else nothing, and ask() is next.
  /// Takes the call when it answers.
  /// Rules: never  nobody is asked, unless the policy engine demands it;
  /// first  asked unless an approval of scope session or args_hash is
  /// remembered for this tool as it is now; always, and demanded  asked each
  /// time. A dry run asks nobody. `time` is what the approved call may take
  /// from now on: it becomes the deadline of its context. `asker` is the caller's
  /// own side, or null.
  /// Errors (in `call`): E_CONSENT  nobody to ask.
  [[nodiscard]] std::optional<Answer> without_asking(Invocation& call,
                                                     const pipeline::ToolEntry& entry,
                                                     pipeline::ConsentDemand demand,
                                                     std::chrono::milliseconds time,
                                                     const pipeline::ConsentHook* asker = nullptr);
  /// Asks for a call that without_asking() left: by the hook, else by `asker`. An
  /// approval for the session of a tool that has no such scope is one for this call.
  /// Errors (in `call`): E_CONSENT  denied, the hook was not reached, no answer
  /// in time, or an answer that is none, each in words of its own; E_LIMIT  more
  /// arguments than can be shown; E_CANCELLED  the caller is gone.
  [[nodiscard]] base::Task<Answer> ask(Invocation call,
                                       std::shared_ptr<const pipeline::ToolEntry> entry,
                                       std::chrono::milliseconds time,
                                       std::shared_ptr<pipeline::ConsentHook> asker = nullptr);

 private:
  [[nodiscard]] bool is_remembered(const Invocation& call, const std::string& pin);
  void remember(const Invocation& call, const std::string& pin, pipeline::ConsentScope scope);
  [[nodiscard]] static Approved<Invocation> approved(Invocation call,
                                                     std::chrono::milliseconds time);

  const std::shared_ptr<pipeline::ConsentHook> hook_;
  const ConsentOptions options_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<std::string, base::WallTime> memory_;  // Until when.
};

}  // namespace tool
