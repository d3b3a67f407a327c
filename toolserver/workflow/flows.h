#pragma once

// Starting, resuming, looking at and taking back runs: what flow.run, flow.get
// and flow.cancel are made of, and the tools of configured workflows.
// Source: docs/wire-3.0.md, section 19.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/json/json.h"
#include "base/runtime/task.h"
#include "toolserver/model/ulid.h"
#include "toolserver/workflow/driver.h"

namespace tool::workflow {

struct FlowRequest {
  Ulid run;                                    ///< Chosen by the caller.
  std::optional<base::json::Object> workflow;  ///< None: a run that is there already.
  base::json::Value input;                     ///< null for none.
  /// By a call of which the run is started, or gone on with; empty: by flow.run. A run
  /// of the same tool and input is that run, although its workflow is another one now.
  std::string tool = {};
  /// Called when the run has its record, before any step.
  std::function<void(const Run&)> kept = {};
};

/// A run as its record has it.
struct FoundRun {
  std::string tool;  ///< As in FlowRequest.
  base::json::Value input;
  RunState state = RunState::kOpen;
  base::WallTime changed{};  ///< When the last of it was written.
};

/// One for each configuration in force; safe to use from any event loop.
class Flows {
 public:
  Flows(FlowOptions options, FlowParts parts)
      : options_(std::move(options)), parts_(std::move(parts)) {}

  /// Starts the run, or goes on with it, and answers when it ends: `run`, `state`,
  /// `steps`, and `output` or `error`. Until then `progress` is called for each
  /// step that ends. A run that has ended is answered from its record.
  /// Errors: before anything runs those of read_workflow(), check_input() and
  ///         check_tools(); E_SHAPE  no run of that id, or it is another workflow's;
  ///         E_BUSY  somebody drives it, or there is no room; and those of
  ///         Driver::drive().
  [[nodiscard]] base::Task<Outcome<base::json::Object>> run(FlowCaller caller, FlowRequest request,
                                                            Progress progress);

  /// How far a run of this principal is: as run() answers, and `driven`.
  /// Errors: E_SHAPE  it has no such run.
  [[nodiscard]] base::Task<Outcome<base::json::Object>> get(FlowCaller caller, Ulid run);

  /// The same run for whoever finds it again by a call's id. Nothing: it has no such run.
  /// Errors: E_INTERNAL  its record cannot be read.
  [[nodiscard]] base::Task<Outcome<std::optional<FoundRun>>> find(FlowCaller caller, Ulid run);
  /// How long a run is kept after the last that happened in it.
  [[nodiscard]] std::chrono::seconds retention() const { return parts_.store.retention(); }

  /// Takes a run back: no step begins, those that run are cancelled, and those that
  /// are done are undone. Where somebody drives it, he does that, and the answer
  /// comes at once; else when it is done. A run that has ended stays as it is.
  /// Errors: E_SHAPE  no such run; those of Driver::drive().
  [[nodiscard]] base::Task<Outcome<base::json::Object>> cancel(FlowCaller caller, Ulid run,
                                                               Progress progress);

  /// Everything that is looked at before a run begins.
  /// Errors: those of read_workflow(), check_input() and check_tools().
  [[nodiscard]] Outcome<Workflow> check(const FlowCaller& caller, base::json::Object source,
                                        const base::json::Value& input) const;

 private:
  [[nodiscard]] base::Task<Outcome<base::json::Object>> go_on(
      FlowCaller caller, RunName name, std::shared_ptr<RunStore::Driving> driving,
      RunStore::Loaded loaded, std::unique_ptr<RunFile> file, Progress progress);

  const FlowOptions options_;
  const FlowParts parts_;
};

}  // namespace tool::workflow
