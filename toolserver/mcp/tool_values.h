#pragma once

// Tools and their answers, between our values and MCP's.
// Source: Model Context Protocol 2026-07-28 and 2025-11-25, "Tools".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp/revision.h"
#include "toolserver/model/capability.h"
#include "toolserver/model/invocation.h"

namespace tool::mcp {

/// What a server says of one of its tools. The name is the server's own: no
/// ToolId, and not unique among servers.
struct ToolDescription {
  std::string name;
  std::string title;
  std::string description;
  base::json::Object input_schema;
  std::optional<base::json::Object> output_schema;
  Annotations annotations;
};

/// A tool of ours as MCP lists it, under `name`.
[[nodiscard]] base::json::Object write_tool(const Capability& capability, std::string_view name);
/// The same of a record as capability listing shows it (docs/wire-3.0.md,
/// section 10), under its id.
[[nodiscard]] base::json::Object write_tool(const base::json::Object& record);

/// Whether a server may call a tool or a prompt so: 1 to 128 of A-Z, a-z, 0-9, '_', '-' and '.'.
[[nodiscard]] bool is_name(std::string_view name);

/// A tool of another server. Annotations are what it says; nobody vouches.
/// Errors: kInvalid  a member is missing or breaks its rule: the name is one for
/// which is_name() holds; schemas are objects; texts are texts.
[[nodiscard]] base::Result<ToolDescription> read_tool(const base::json::Value& value);

/// A part of content. Bytes that are neither image nor sound are a resource; one
/// that no URI was given has "attachment:" and `index`.
[[nodiscard]] base::json::Object write_content(const Content& content, std::size_t index);
/// Errors: kInvalid  a kind that is not known, a member that is missing, base64
/// that is broken, or another media type than its kind has.
[[nodiscard]] base::Result<Content> read_content(const base::json::Value& value);

/// The contents of a resource, of which `content` holds one: `uri` and text or
/// blob.
[[nodiscard]] base::json::Object write_contents(const Content& content);

/// Errors: kInvalid  as read_content(), of a resource.
[[nodiscard]] base::Result<Content> read_contents_part(const base::json::Value& value);

/// The result of `tools/call`. For a stateless revision it has `resultType`; a
/// result that needs input is one there, and must not come here for others.
/// `state` is what the client has to send back.
[[nodiscard]] base::json::Object write_result(const ToolResult& result, Revision revision,
                                              const std::string& state = {});
/// Errors: kInvalid  as read_content(); no `content`; a `resultType` that is not
/// known; requests for input that are no object.
[[nodiscard]] base::Result<ToolResult> read_result(base::json::Object result);

}  // namespace tool::mcp
