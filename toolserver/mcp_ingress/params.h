#pragma once

// Parameters of requests as values, and lists as results: each member is read
// once. An error is a whole reply, -32602 with the member and the rule.
// Source: Model Context Protocol 2026-07-28, "Server features", "Pagination".

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/mcp/tool_values.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/providers.h"

namespace tool::mcp_ingress {

/// A text of 1 to 4,096 bytes.
[[nodiscard]] std::expected<std::string, Reply> text_param(const base::json::Object& params,
                                                           std::string_view member);
/// An object; an absent one is empty.
[[nodiscard]] std::expected<base::json::Object, Reply> object_param(
    const base::json::Object& params, std::string_view member);
/// What the client answered, and the state that it carried, still sealed. Nothing
/// when it is the first time.
[[nodiscard]] std::expected<std::optional<Inputs>, Reply> inputs_of(
    const base::json::Object& params);
[[nodiscard]] std::expected<PromptRequest, Reply> prompt_request_of(
    const base::json::Object& params);
[[nodiscard]] std::expected<CompletionRequest, Reply> completion_of(
    const base::json::Object& params);
[[nodiscard]] std::expected<ListenFilter, Reply> read_filter(const base::json::Object& params);

/// The answer where there is no resource, or none that the caller may know of.
[[nodiscard]] Reply no_resource(const Call& call, const std::string& uri);

/// A page of 100 of `all`, from where `params.cursor` says.
[[nodiscard]] Reply page_of(std::vector<base::json::Object> all, std::string_view member,
                            const base::json::Object& params);
/// A page of tools, likewise, but as many as fit in 1 MiB, 1,000 at most: many
/// clients never ask for a second one. Of a list without texts a page of 100.
[[nodiscard]] Reply page_of_tools(const ToolList& all, const base::json::Object& params);

[[nodiscard]] base::json::Object write_resource(const Resource& resource);
[[nodiscard]] base::json::Object write_template(const ResourceTemplate& resource);
[[nodiscard]] base::json::Object write_prompt(const Prompt& prompt);
[[nodiscard]] base::json::Object write_prompt_text(const PromptText& text);
[[nodiscard]] base::json::Object write_completion(const Completion& completion);

}  // namespace tool::mcp_ingress
