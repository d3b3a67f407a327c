#pragma once

// The stages that need no waiting: each takes what is known of a call and says
// yes or why not.

#include <chrono>
#include <memory>
#include <optional>

#include "base/core/clock.h"
#include "base/runtime/task.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"
#include "toolserver/pipeline/call.h"
#include "toolserver/pipeline/registry.h"

namespace tool::pipeline {

/// What a caller is told who may describe the tool, or not, where there is none: E_TOOL,
/// or E_BUSY where its node has yet to say which tools it has.
[[nodiscard]] Fault no_tool(const ToolRegistry& registry, const ToolId& id,
                            const Principal& principal);

/// The tool a call names, seen with the caller's eyes: one that it may not
/// describe is not there, and the answer is that for a name that is free.
/// Errors: E_SHAPE  not a tool's name, or one of another kind than the call says;
/// those of no_tool().
[[nodiscard]] Outcome<std::shared_ptr<const ToolEntry>> find_tool(const ToolRegistry& registry,
                                                                  const PipelineCall& call);

/// Checks the arguments against the tool's schema and takes the call over.
/// Errors: E_SHAPE  they break it, or have no canonical form; E_LIMIT  too much
/// to check.
[[nodiscard]] Outcome<Invocation> shape(PipelineCall& call, const ToolEntry& entry);

/// Errors: E_PIN  nobody approved the tool as it is now.
[[nodiscard]] Outcome<void> check_pin(const ToolEntry& entry);

/// Errors: E_EXPIRED  the principal's time is over; E_SCOPE  it may not invoke
/// this tool.
[[nodiscard]] Outcome<void> authorise(const Principal& principal, const ToolId& tool,
                                      base::WallTime now);

/// Whether the arguments are such as the details of the call's principal allow,
/// where some of them name its tool. Both outlive the task.
/// Errors: E_POLICY  names the argument and the rule of the caller's first detail
/// that is broken; or the connector cannot tell. What else Connector::keeps_to_tables()
/// refuses with.
[[nodiscard]] base::Task<Outcome<void>> check_details(const ToolEntry& entry,
                                                      const Invocation& call);

/// Errors: E_POLICY  the tool asks for a stronger mode of security.
[[nodiscard]] Outcome<void> check_mode(Mode mode, const Capability& capability);

/// What a tool may take: the least of what was asked for (`standard` when
/// nothing was), the tool's own limit and `most`.
[[nodiscard]] std::chrono::milliseconds time_for(std::optional<std::chrono::milliseconds> asked,
                                                 const Capability& capability,
                                                 std::chrono::milliseconds standard,
                                                 std::chrono::milliseconds most);

/// Bytes of an answer: of its content, and of `structured` and what it asks for as JSON.
/// Errors: E_LIMIT  over the tool's limit or over `most`.
[[nodiscard]] Outcome<std::size_t> measure(const ToolResult& result, const Capability& capability,
                                           std::size_t most);

/// Whether the answer fits into one message of `most` bytes, envelope and all,
/// in the form in which it is sent: text with its escapes, bytes in base64url.
/// `measured` is what measure() gave.
/// Errors: E_LIMIT  it does not.
[[nodiscard]] Outcome<void> check_wire_size(const ToolResult& result, ContentForm form,
                                            std::size_t measured, std::size_t most);

/// Errors: E_UPSTREAM  the tool's answer breaks its own output schema;
/// E_INTERNAL  so does that of a tool of ours.
[[nodiscard]] Outcome<void> check_output(const ToolResult& result, const ToolEntry& entry);

}  // namespace tool::pipeline
