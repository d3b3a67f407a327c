// Any bytes: a message of MCP is read without a fault, and what is accepted
// comes back the same from its own text; so do its tool, content and result.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "toolserver/mcp/message.h"
#include "toolserver/mcp/request_meta.h"
#include "toolserver/mcp/tool_values.h"

namespace {

void read_values(const base::json::Object& object) {
  (void)tool::mcp::read_meta(object);
  (void)tool::mcp::read_tool(object);
  if (auto content = tool::mcp::read_content(object)) {
    if (!tool::mcp::read_content(tool::mcp::write_content(*content, 0))) std::abort();
  }
  auto result = tool::mcp::read_result(object);
  if (!result) return;
  std::string state = result->input_needed ? result->input_needed->state : std::string();
  auto written = tool::mcp::write_result(*result, tool::mcp::kNewest, state);
  if (!tool::mcp::read_result(written)) std::abort();
}

void read_values_of(const tool::mcp::Message& message) {
  if (const auto* request = std::get_if<tool::mcp::Request>(&message)) read_values(request->params);
  if (const auto* answer = std::get_if<tool::mcp::Answer>(&message)) read_values(answer->result);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto message = tool::mcp::parse_message(text, {.bytes = 1 << 16, .depth = 64, .values = 10'000});
  if (!message) return 0;
  auto write = [](const auto& one) { return tool::mcp::write(one); };
  std::string written = std::visit(write, *message);
  if (written.contains('\n')) std::abort();
  auto again = tool::mcp::parse_message(written);
  if (!again || std::visit(write, *again) != written) std::abort();
  read_values_of(*message);
  return 0;
}
