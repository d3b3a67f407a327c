#pragma once

// Resources and prompts of another server, from MCP's words into ours.
// Source: Model Context Protocol 2026-07-28 and 2025-11-25, "Resources", "Prompts".

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/model/invocation.h"

namespace tool::mcp {

/// One of "resources" or of "resourceTemplates"; what it says of itself, and no more.
struct ResourceDescription {
  std::string uri;  ///< Or the template.
  std::string name;
  std::string title;
  std::string description;
  std::string media_type;

  /// As MCP lists it, with `member` ("uri" or "uriTemplate") for the URI.
  [[nodiscard]] base::json::Object to_json(std::string_view member) const;
};
/// Errors: kInvalid  a member is missing or breaks its rule: a name is 1 to 256 bytes,
/// a title 256, a description 4,096, a media type 128. URIs are not looked at.
[[nodiscard]] base::Result<ResourceDescription> read_resource(const base::json::Value& value,
                                                              std::string_view member);

struct PromptArgumentDescription {
  std::string name;
  std::string title;
  std::string description;
  bool required = false;
};
struct PromptDescription {
  std::string name;
  std::string title;
  std::string description;
  std::vector<PromptArgumentDescription> arguments;
};
/// Errors: kInvalid  as read_tool() for the name; texts as read_resource(); over 64
/// arguments, or two of one name.
[[nodiscard]] base::Result<PromptDescription> read_prompt(const base::json::Value& value);

/// The result of resources/read: each part is of a resource, with the server's own URI.
/// Errors: kInvalid  a part that is none, base64 that is broken, a URI for which is_uri()
/// does not hold, over 256 parts, or a `resultType` that is not known.
[[nodiscard]] base::Result<ToolResult> read_contents(base::json::Object result);

/// The result of prompts/get: the content of each message, and in `structured` the
/// description and the roles, {"description": ..., "roles": [...]}.
/// Errors: kInvalid  likewise; a role that is neither user nor assistant.
[[nodiscard]] base::Result<ToolResult> read_prompt_text(base::json::Object result);

}  // namespace tool::mcp
