#pragma once

// MCP over standard input and output: a message on each line, any number of
// requests side by side, for the one client that started this process.
// Source: Model Context Protocol 2026-07-28 and 2025-11-25, "stdio".

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>

#include "base/core/result.h"
#include "base/runtime/task.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/providers.h"

namespace tool::mcp_ingress {

struct StdioOptions {
  Caller caller;
  ToolsWanted wanted = ToolsWanted::kDefault;
  mcp::MessageBounds bounds = {.bytes = 4 << 20};
  std::size_t most_running = 64;  ///< Requests at once; more are refused.
  int input = 0;                  ///< File descriptors, which stay open.
  int output = 1;
};

/// Serves until the input ends; then ends what runs, and returns when all has
/// been written. The dispatcher outlives it, and both belong to one loop.
/// Errors: kUnavailable  a descriptor cannot be used; kTooLarge  a line is over
/// the bound.
[[nodiscard]] base::Task<base::Status> serve_lines(const Dispatcher& dispatcher,
                                                   StdioOptions options);

}  // namespace tool::mcp_ingress
