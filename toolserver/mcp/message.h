#pragma once

// One JSON-RPC message, from whoever sent it, into a value: what is not a
// request, a notification or an answer is refused here, with the id where it
// could be read. Batches are refused in every revision: that of 2025-03-26 had
// them, and a client has to live without.
// Sources: JSON-RPC 2.0; Model Context Protocol, "Overview: Messages".

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json/json.h"

namespace tool::mcp {

/// Never null, never a fraction; texts have 256 bytes at most.
using RequestId = std::variant<std::int64_t, std::string>;

struct RpcError {
  int code = 0;
  std::string message;
  std::optional<base::json::Value> data = {};
};

struct Request {
  RequestId id;
  std::string method;
  base::json::Object params;  ///< Empty when absent.
};
struct Notification {
  std::string method;
  base::json::Object params;
};
struct Answer {
  RequestId id;
  base::json::Object result;
};
struct ErrorAnswer {
  std::optional<RequestId> id;  ///< Nothing: of a message whose id could not be read.
  RpcError error;
};
using Message = std::variant<Request, Notification, Answer, ErrorAnswer>;

/// What `parse_message` says of a text that is none.
struct Unreadable {
  RpcError error;
  std::optional<RequestId> id;
};

struct MessageBounds {
  std::size_t bytes = 1 << 20;
  std::size_t depth = 64;
  std::size_t values = 100'000;
};

/// One message, whole.
/// Errors: -32700  not JSON, a duplicate name, or over a bound; -32600  a batch,
/// another version of JSON-RPC, an id or a method that cannot be one, `params`
/// or `result` that is no object, or neither request nor answer.
[[nodiscard]] std::expected<Message, Unreadable> parse_message(std::string_view text,
                                                               const MessageBounds& bounds = {});

[[nodiscard]] base::json::Value to_json(const RequestId& id);
/// Nothing where `value` cannot be an id.
[[nodiscard]] std::optional<RequestId> id_of(const base::json::Value& value);

/// JSON in one line, without a line break. Taken by value: a result may be of
/// megabytes, and is moved into the message.
[[nodiscard]] std::string write(Request request);
[[nodiscard]] std::string write(Notification notification);
[[nodiscard]] std::string write(Answer answer);
[[nodiscard]] std::string write(ErrorAnswer answer);

}  // namespace tool::mcp
