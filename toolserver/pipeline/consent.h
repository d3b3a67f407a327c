#pragma once

// Between a model that wants to act and the act stands a person, where the
// tool's rule or the policy engine asks for one. Only this stage makes an
// Approved call, so a connector cannot be reached around it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

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

/// What was agreed to for more than one call. It outlives a reload, and ends with the
/// process. Safe to use from any thread.
class ConsentMemory {
 public:
  struct Approval {
    std::uint64_t id = 0;  ///< Never used twice.
    std::string subject;
    std::string issuer;
    std::string tool;
    pipeline::ConsentScope scope = pipeline::ConsentScope::kSession;
    std::string session_id;  ///< Of kSession.
    std::string by;          ///< Who agreed.
    base::WallTime until{};
  };

  [[nodiscard]] bool holds(const std::string& key, base::WallTime now) const;
  /// Not where `most` are remembered already: a full memory costs a question more,
  /// never one less.
  void put(std::string key, Approval approval, std::size_t most, base::WallTime now);
  /// Those in their time, the oldest first.
  [[nodiscard]] std::vector<Approval> list(base::WallTime now) const;
  /// Forgets those that `chosen` picks; returns how many.
  std::size_t revoke(const std::function<bool(const Approval&)>& chosen);

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;                               // Guarded by mutex_.
  std::unordered_map<std::string, Approval> approvals_;  // Guarded by mutex_.
};

/// Safe to use from any event loop.
class ConsentStage {
 public:
  /// Without a hook, what needs consent is refused, unless the caller's own side can
  /// be asked. The clock outlives the stage. `memory` is one of its own when null.
  ConsentStage(std::shared_ptr<pipeline::ConsentHook> hook, ConsentOptions options,
               const base::Clock& clock, std::shared_ptr<ConsentMemory> memory = nullptr)
      : hook_(std::move(hook)),
        options_(options),
        clock_(clock),
        memory_(memory ? std::move(memory) : std::make_shared<ConsentMemory>()) {}

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
  void remember(const Invocation& call, const std::string& pin,
                const pipeline::ConsentAnswer& answer);
  [[nodiscard]] static Approved<Invocation> approved(Invocation call,
                                                     std::chrono::milliseconds time);

  const std::shared_ptr<pipeline::ConsentHook> hook_;
  const ConsentOptions options_;
  const base::Clock& clock_;
  const std::shared_ptr<ConsentMemory> memory_;
};

}  // namespace tool
