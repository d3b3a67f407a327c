#pragma once

// One run of a workflow as a value: what its record says has happened, and what
// follows from that. It does nothing itself. Every change is a line of the
// record first (can it be written?) and then apply(): so a run that is read from
// its file is the same as the one that wrote it.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "toolserver/workflow/definition.h"

namespace tool::workflow {

/// A step's own call, or the one that takes it back.
enum class Side : std::uint8_t { kDo, kUndo };

/// A call is about to be made; stands before it.
struct Begin {
  std::size_t step = 0;
  Side side = Side::kDo;
  std::string request_id;  ///< Of the call, by which its outcome is asked for.
  base::WallTime at{};
  /// Until then the call's key is surely remembered, if the call was begun.
  base::WallTime known_until{};
};
/// A call ended, or could not be made.
struct End {
  std::size_t step = 0;
  Side side = Side::kDo;
  std::string status;         ///< "ok", "tool_error", a code, "unknown", or "not_begun".
  std::string message;        ///< Of a refusal, for the caller.
  base::json::Object result;  ///< is_error, content, structured; of a call that ended with one.
  base::WallTime at{};
};
/// From here on no step begins, and those that are done are taken back.
struct Turn {
  std::string why;      ///< "failed" or "cancelled".
  std::string code;     ///< Of what failed; empty of a cancelled run.
  std::string message;  ///< Likewise.
};
/// The last line.
struct Finish {
  std::string state;  ///< "done", "failed" or "cancelled".
  std::optional<base::json::Value> output;
  std::string message;  ///< Why there is no output; or empty.
};
using Record = std::variant<Begin, End, Turn, Finish>;

enum class StepState : std::uint8_t { kWaiting, kBegun, kDone, kFailed, kSkipped, kUnknown };
[[nodiscard]] std::string_view name(StepState state);

/// How far a step, or its undo, is.
struct Progression {
  StepState state = StepState::kWaiting;
  unsigned attempt = 0;  ///< Of the last call that was begun.
  std::string request_id;
  base::WallTime known_until{};
  base::WallTime not_before{};  ///< Of the next attempt.
  std::string status;
  std::string message;
};

enum class RunState : std::uint8_t { kOpen, kUndoing, kUnknown, kDone, kFailed, kCancelled };

class Run {
 public:
  Run(Workflow workflow, base::json::Value input);

  /// Whether the record may come next. Errors: kCorrupt  it may not.
  [[nodiscard]] base::Status apply(const Record& record);

  [[nodiscard]] const Workflow& workflow() const { return workflow_; }
  [[nodiscard]] const Progression& progression(std::size_t step, Side side) const {
    return (side == Side::kDo ? steps_ : undos_)[step];
  }
  [[nodiscard]] RunState state() const;
  [[nodiscard]] bool is_over() const { return !finished_.empty(); }
  [[nodiscard]] bool is_turned() const { return turned_.has_value(); }
  /// Of the turn; only after it.
  [[nodiscard]] const Turn& turn() const { return *turned_; }
  /// A step failed for good, so the run has to turn.
  [[nodiscard]] bool has_failed() const;
  [[nodiscard]] std::size_t running() const;

  /// Steps that may begin, whose time has come or not; a step whose conditions
  /// cannot be told is among `broken`, with the End it comes to.
  struct Ready {
    std::vector<std::size_t> steps;
    std::vector<End> broken;
  };
  [[nodiscard]] Ready ready();
  /// After the turn: the step that is to be taken back next. Nothing: no more.
  [[nodiscard]] std::optional<std::size_t> next_undo() const;

  /// The arguments of a call, and the places of them that came from other steps.
  struct Arguments {
    base::json::Object values;
    std::vector<std::string> taken;
  };
  /// Errors: those of fill().
  [[nodiscard]] Outcome<Arguments> arguments(std::size_t step, Side side, std::size_t bytes) const;
  /// The output of a run whose steps have all ended. Errors: those of fill().
  [[nodiscard]] Outcome<std::optional<base::json::Value>> output(std::size_t bytes) const;

  [[nodiscard]] std::size_t ended() const;
  /// What flow.get tells: `state`, `steps`, and `output` or `error`.
  [[nodiscard]] base::json::Object report() const;

 private:
  base::Status apply_one(const Begin& begin);
  base::Status apply_one(const End& end);
  base::Status apply_one(const Turn& turn);
  base::Status apply_one(const Finish& finish);
  void settle();
  void show(std::size_t step, const base::json::Object& result);
  [[nodiscard]] const ToolUse& use(std::size_t step, Side side) const;

  Workflow workflow_;
  std::vector<Progression> steps_;
  std::vector<Progression> undos_;
  std::vector<std::size_t> done_;  // In the order in which they ended.
  base::json::Value document_;     // What pointers lead into.
  std::optional<Turn> turned_;
  std::string finished_;
  std::optional<base::json::Value> output_;
  std::string why_no_output_;
};

/// A record as one line of JSON, without its end.
[[nodiscard]] std::string write_record(const Record& record);
/// Errors: kCorrupt  not what write_record() writes, or a step that is not there.
[[nodiscard]] base::Result<Record> read_record(std::string_view line, std::size_t steps);

}  // namespace tool::workflow
