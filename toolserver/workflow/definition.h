#pragma once

// A workflow as its author wrote it: steps over tools, what each takes from the
// others, and what is done when one fails. Read once into a value in which every
// name is known, every pointer leads to a step, and no step waits for itself.
// Source: docs/tools/workflows.md; docs/schemas/workflow.json.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/tool_id.h"
#include "toolserver/workflow/references.h"

namespace tool::workflow {

/// What the operator lets one workflow have.
struct Bounds {
  std::size_t steps = 64;
  std::size_t parallel = 8;                   ///< Steps that run at once.
  std::chrono::milliseconds time{3'600'000};  ///< Of a run.
  std::size_t bytes = 16 << 20;               ///< Of a run's record, with all outputs.
  std::size_t arguments = 1 << 20;            ///< Of one step's arguments, filled.
};

/// One condition of a step.
struct Condition {
  enum class Test : std::uint8_t { kEquals, kNotEquals, kLess, kGreater, kExists };
  Reference from;
  Test test = Test::kEquals;
  base::json::Value operand;

  /// Errors: E_SHAPE  the pointer leads to nothing (but for kExists), or less and
  ///         greater meet what is no number.
  [[nodiscard]] Outcome<bool> holds(const base::json::Value& document) const;
};

struct Retry {
  unsigned attempts = 1;               ///< 1 to 10, the first among them.
  std::chrono::milliseconds pause{0};  ///< Before the second; twice as long before each next one.
};

/// What is called: a step's own call, or the one that takes it back.
struct ToolUse {
  ToolId tool;
  base::json::Object args;  ///< With holes.
  Retry retry;
  std::optional<std::chrono::milliseconds> time;  ///< Of one attempt.
};

struct Step {
  std::string name;  ///< 1 to 64 of a-z, 0-9, '_' and '-'.
  ToolUse use;
  std::vector<Condition> conditions;  ///< All must hold, else the step is skipped.
  bool may_fail = false;              ///< The run goes on when it fails.
  std::optional<ToolUse> undo;
  std::vector<std::size_t> after;  ///< All steps that it waits for, by their places.
  std::vector<std::size_t> takes;  ///< Those among them that it takes values from.
};

struct Workflow {
  std::string title;
  std::string description;
  std::optional<base::json::Object> input;  ///< JSON Schema; none: the run takes nothing.
  std::vector<Step> steps;
  std::optional<base::json::Value> output;  ///< With holes.
  std::chrono::milliseconds time{};
  std::size_t parallel = 0;
  base::json::Object source;  ///< As it was read.

  /// The place of a step; nothing when there is none of that name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
};

/// Errors: E_SHAPE  the message names the place and the rule: a member that is
///         unknown, missing or of the wrong kind, two steps of one name, a pointer
///         to a step that is not there, steps that wait for each other, a step
///         that is itself a workflow; E_LIMIT  over `bounds`.
[[nodiscard]] Outcome<Workflow> read_workflow(base::json::Object source, const Bounds& bounds);

}  // namespace tool::workflow
