#include "toolserver/connectors/echo/echo_connector.h"

namespace tool::connectors {
namespace {

constexpr std::int64_t kTextCharacters = 1 << 20;

Capability describe() {
  Capability say{.id = *ToolId::parse("echo.say")};
  say.title = "Answer with the given text";
  say.description = "Returns its argument unchanged. Reads and changes nothing.";
  say.input_schema = {
      {"type", "object"},
      {"properties", {{"text", {{"type", "string"}, {"maxLength", kTextCharacters}}}}},
      {"required", {"text"}},
      {"additionalProperties", false}};
  say.annotations = {
      .read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  return say;
}

}  // namespace

std::vector<Capability> EchoConnector::capabilities() const { return {describe()}; }

base::Task<Outcome<ToolResult>> EchoConnector::invoke(Approved<Invocation> call, Progress) {
  ToolResult result;
  result.content.push_back({"text/plain", std::string(call->args.at("text").get_string())});
  co_return result;
}

}  // namespace tool::connectors
