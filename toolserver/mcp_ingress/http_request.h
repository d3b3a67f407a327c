#pragma once

// What the head of a request says about its body, held against the body: a
// gateway that has read the one and a server that has read the other must have
// read the same.
// Source: Model Context Protocol 2026-07-28, "Streamable HTTP: Request metadata".

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/http/message.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp/request_meta.h"
#include "toolserver/mcp/revision.h"
#include "toolserver/mcp_ingress/dispatcher.h"

namespace tool::mcp_ingress {

/// The field, where there is one of it. Errors: -32020  several.
[[nodiscard]] std::expected<std::optional<std::string>, Reply> one_field(
    const base::http::Headers& headers, std::string_view name);

/// By which revision a request is meant.
/// Errors (400): -32020  field and `_meta` disagree, a field is missing; -32022
/// not served; -32602  `_meta` lacks what the revision wants.
[[nodiscard]] std::expected<mcp::Revision, Reply> revision_of(const base::http::Headers& headers,
                                                              const mcp::RequestMeta& meta,
                                                              const Dispatcher& dispatcher);

/// Mcp-Method and Mcp-Name against the request. Errors (400): -32020.
[[nodiscard]] std::expected<void, Reply> check_fields(const base::http::Headers& headers,
                                                      const mcp::Request& request);

struct Accepts {
  bool json = false;
  bool events = false;
};
/// Without the field both.
[[nodiscard]] Accepts accepts_of(const base::http::Headers& headers);
/// Whether the body is said to be JSON.
[[nodiscard]] bool is_json(const base::http::Headers& headers);

}  // namespace tool::mcp_ingress
