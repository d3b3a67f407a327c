#pragma once

// Drives one run: begins the steps whose time has come, waits for what runs,
// and writes each line before what it says is done. It stands on the caller's
// own request and its rights; when that ends, the run waits for its principal to
// come again.

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/runtime/task.h"
#include "base/runtime/task_group.h"
#include "toolserver/model/invocation.h"
#include "toolserver/pipeline/pipeline.h"
#include "toolserver/workflow/run_store.h"

namespace tool::workflow {

/// Who asks, as for a call of a tool.
struct FlowCaller {
  std::shared_ptr<const Principal> principal;  ///< Never null.
  std::string session_id;
  std::string peer;
  std::string traceparent;
  Mode mode = Mode::kSimple;
  std::uint32_t hop = 0;
  std::shared_ptr<const Forwarded> forwarded = {};
};

struct FlowOptions {
  Bounds bounds;
  std::chrono::milliseconds step_time{30'000};  ///< Of a step that names none.
  std::chrono::seconds keys_kept{3'600};        ///< outcomes.retention.
  std::size_t answer_bytes = 4 << 20;           ///< Of the output of a run.
};

/// What a driver stands on; all outlive it.
struct FlowParts {
  pipeline::Pipeline& pipeline;
  RunStore& store;
  const base::Clock& clock;
  base::Random& random;
  std::function<bool()> is_draining;  ///< No step begins any more.
};

/// Belongs to one event loop.
class Driver {
 public:
  Driver(const FlowOptions& options, const FlowParts& parts, FlowCaller caller, RunName name,
         base::WallTime started, Run& run, RunFile& file, RunStore::Driving& driving,
         Progress progress, const boost::asio::any_io_executor& loop);

  /// To the end of the run, or as far as this caller can take it. Waits for every
  /// call that it began, also when it is cancelled.
  /// Errors, after which the run can be resumed: E_CANCELLED; E_EXPIRED  of the
  ///         principal; E_BUSY  the service stops, or the record cannot be written.
  [[nodiscard]] base::Task<Outcome<void>> drive();

 private:
  struct Call;

  void take_over(std::vector<Record>& records);
  void take_ends(std::vector<Record>& records);
  [[nodiscard]] std::vector<std::shared_ptr<Call>> plan(std::vector<Record>& records);
  void plan_steps(std::vector<Record>& records, std::vector<std::shared_ptr<Call>>& calls);
  void plan_undo(std::vector<Record>& records, std::vector<std::shared_ptr<Call>>& calls);
  void plan_turn(std::vector<Record>& records);
  void begin(std::size_t step, Side side, std::vector<Record>& records,
             std::vector<std::shared_ptr<Call>>& calls);
  void note(std::vector<Record>& records, Record record);
  [[nodiscard]] bool can_ask(std::size_t step, Side side) const;
  [[nodiscard]] bool may_take_over(std::size_t step, Side side) const;
  [[nodiscard]] std::optional<End> outcome_of(std::size_t step, Side side) const;
  [[nodiscard]] End end_of(const Call& call, Outcome<pipeline::PipelineReply> reply) const;
  base::Task<void> make(std::shared_ptr<Call> call);
  base::Task<bool> pause(std::chrono::milliseconds time);
  base::Task<void> wait();
  void cancel_calls();
  [[nodiscard]] bool is_late() const;
  [[nodiscard]] std::string key_of(std::size_t step, Side side, unsigned attempt) const;
  void tell(const End& end);

  const FlowOptions& options_;
  const FlowParts& parts_;
  const FlowCaller caller_;
  const RunName name_;
  const base::WallTime end_;
  Run& run_;
  RunFile& file_;
  RunStore::Driving& driving_;
  Progress progress_;
  base::TaskGroup tasks_;
  boost::asio::steady_timer changed_;
  std::shared_ptr<Driver*> self_;  // Gone with this, for those on other threads.
  std::vector<std::shared_ptr<Call>> calls_;
  std::vector<End> ends_;
  std::optional<Fault> stop_;  // Why no step begins any more; the run waits.
  std::optional<Turn> turn_;   // Why the run has to turn, beside a step that failed.
};

}  // namespace tool::workflow
