#pragma once

// From the bytes that a program or a server answered to a tool's result.

#include <string>

#include "toolserver/definition/tool_definition.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::connectors {

/// The payload for a call: nothing, all of `args` as canonical JSON, or one
/// argument, which is empty when the call leaves it out.
/// Errors: E_SHAPE  the argument's text holds a NUL.
[[nodiscard]] Outcome<std::string> payload_of(const definition::Payload& payload,
                                              const base::json::Object& args);

/// `text` as the tool's answer, without the tool's secrets. `pointer` (RFC 6901;
/// empty for all) chooses the part of a JSON text.
/// Errors: E_UPSTREAM  it is not UTF-8, not JSON where the tool promises JSON, or
///         has no such part.
[[nodiscard]] Outcome<ToolResult> answer_of(const definition::ToolDefinition& tool,
                                            std::string text, const std::string& pointer = {});

/// A failure that the caller may read, without the tool's secrets; bytes that are
/// not UTF-8 and control characters are shown as escapes.
[[nodiscard]] ToolResult failure_of(const definition::ToolDefinition& tool, std::string text);

}  // namespace tool::connectors
