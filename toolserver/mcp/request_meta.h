#pragma once

// What a request says of itself beside its arguments: in `params._meta`. Since
// 2026-07-28 it names the revision and the client there, on every request.
// Sources: Model Context Protocol 2026-07-28, "Overview: _meta"; 2025-11-25,
// "Progress"; W3C Trace Context.

#include <expected>
#include <optional>
#include <string>

#include "base/json/json.h"
#include "toolserver/mcp/message.h"

namespace tool::mcp {

struct RequestMeta {
  std::string version;  ///< As it is written; empty when absent.
  std::optional<base::json::Object> client_capabilities = {};
  base::json::Object client_info;
  std::string log_level;  ///< Empty: no `notifications/message` is asked for.
  std::optional<RequestId> progress_token = {};
  std::string traceparent;
  std::string idempotency_key;  ///< As it is written; empty when absent.
};

/// Errors: -32602  `_meta` or a member of it that is known here has another type.
[[nodiscard]] std::expected<RequestMeta, RpcError> read_meta(const base::json::Object& params);

/// `_meta` of a request that a client of a stateless revision makes.
[[nodiscard]] base::json::Object write_meta(const RequestMeta& meta);

/// The place of a level of RFC 5424 in the order of severity: 0 "debug" to 7
/// "emergency". Nothing for another word.
[[nodiscard]] std::optional<int> severity(std::string_view level);

}  // namespace tool::mcp
