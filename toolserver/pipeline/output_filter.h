#pragma once

// What a tool gives back may hold secrets, or orders to the model that reads
// it. A filter sees every answer before the caller does.

#include <cstdint>

#include "base/runtime/task.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::pipeline {

struct Filtered {
  ToolResult result;
  std::uint64_t redactions = 0;
};

/// Safe to use from any event loop. `call` outlives the wait.
class OutputFilter {
 public:
  virtual ~OutputFilter() = default;
  /// The answer with what had to go taken out.
  /// Errors: E_POLICY  nothing of it may be shown; E_UPSTREAM  the filter could
  /// not tell.
  [[nodiscard]] virtual base::Task<Outcome<Filtered>> filter(const Invocation& call,
                                                             ToolResult result) = 0;
};

}  // namespace tool::pipeline
