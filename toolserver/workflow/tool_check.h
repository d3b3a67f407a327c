#pragma once

// Before anything runs: the tools of a workflow are there, this caller may call
// them, and what is known of their arguments fits. The pipeline checks each call
// again; this is so that a run does not fail at its ninth step for a fault that
// stood in the file.

#include <functional>
#include <string>

#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/workflow/definition.h"

namespace tool::workflow {

/// The capability record of a tool, as docs/wire-3.0.md, section 10, has it.
/// Errors: E_TOOL  there is none for this caller.
using FindTool = std::function<Outcome<base::json::Object>(const std::string& tool)>;

/// Errors, each beginning with the step: E_TOOL  as for a call; E_SCOPE  the caller
///         may not call it; E_SHAPE  arguments that the tool's input schema does
///         not have or lacks, values whose type it does not take, a value from an
///         output whose schema has no such place or another type, retries of a
///         tool that does not say that it can be called twice.
[[nodiscard]] Outcome<void> check_tools(const Workflow& workflow, const Scopes& scopes,
                                        const FindTool& find);

/// Whether `input` is what the workflow takes; null for none.
/// Errors: E_SHAPE  it is not, or the workflow's schema cannot be used.
[[nodiscard]] Outcome<void> check_input(const Workflow& workflow, const base::json::Value& input);

/// What a JSON Schema says of the place that `tokens` lead to, as far as it is
/// plain: properties and items. Null: it says nothing, or the place may be
/// anything.
/// Errors: E_SHAPE  there can be no such place.
[[nodiscard]] Outcome<const base::json::Object*> schema_at(const base::json::Object& schema,
                                                           const std::vector<std::string>& tokens);

}  // namespace tool::workflow
