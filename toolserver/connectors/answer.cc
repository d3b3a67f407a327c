#include "toolserver/connectors/answer.h"

#include "base/core/text.h"
#include "base/json/canonical.h"
#include "base/json/pointer.h"

namespace tool::connectors {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = 200'000;

Fault upstream(std::string message, std::string detail = {}) {
  Fault fault = refuse(Code::kUpstream, std::move(message));
  fault.detail = std::move(detail);
  return fault;
}

}  // namespace

Outcome<std::string> payload_of(const definition::Payload& payload,
                                const base::json::Object& args) {
  using Kind = definition::Payload::Kind;
  if (payload.kind == Kind::kNone) return std::string();
  if (payload.kind == Kind::kArguments) {
    auto text = base::json::canonical(args);
    if (!text) return to_fault(std::move(text).error().with_context("args"));
    return std::move(*text);
  }
  const auto* value = args.if_contains(payload.argument);
  if (value == nullptr || value->is_null()) return std::string();
  if (value->is_string()) return std::string(value->get_string());
  return base::json::write(*value);
}

Outcome<ToolResult> answer_of(const definition::ToolDefinition& tool, std::string text,
                              const std::string& pointer) {
  if (!base::is_utf8(text)) return upstream("the tool's answer is not UTF-8");
  ToolResult result;
  if (tool.answer == definition::AnswerForm::kText) {
    result.content.push_back({"text/plain", without_secrets(std::move(text), tool.secrets)});
    return result;
  }
  auto value =
      base::json::parse(text, {.bytes = text.size() + 1, .depth = kMaxDepth, .values = kMaxValues});
  if (!value) return upstream("the tool's answer is not JSON", value.error().message());
  const auto* part = base::json::find_at(*value, pointer);
  if (part == nullptr) return upstream("the tool's answer has not the part that it promises");
  auto clean = without_secrets(*part, tool.secrets);
  result.content.push_back({"application/json", base::json::write(clean)});
  result.structured = std::move(clean);
  return result;
}

ToolResult failure_of(const definition::ToolDefinition& tool, std::string text) {
  ToolResult result;
  result.is_error = true;
  result.content.push_back(
      {"text/plain", base::for_terminal(without_secrets(std::move(text), tool.secrets))});
  return result;
}

}  // namespace tool::connectors
