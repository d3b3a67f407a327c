// Any bytes as the answer of a policy engine: no answer, or one of the five
// effects with pointers that can be followed, within the bounds.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "base/json/pointer.h"
#include "toolserver/guard/policy.h"
#include "toolserver/pipeline/redact.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto body = base::json::parse(text, {.bytes = 64 << 10, .depth = 16});
  if (!body || !body->is_object()) return 0;
  auto answer = tool::guard::parse_policy_answer(body->get_object());
  if (!answer) return 0;
  bool is_in_bounds = !tool::guard::name(answer->effect).empty() &&
                      answer->reasons.size() <= tool::guard::kReasons &&
                      answer->redact.result.size() <= tool::guard::kPointers &&
                      answer->redact.arguments.size() <= tool::guard::kPointers &&
                      answer->revision.size() <= tool::guard::kRevisionBytes;
  if (!is_in_bounds) std::abort();
  for (const auto& pointer : answer->redact.result) {
    if (!base::json::is_pointer(pointer)) std::abort();
  }
  tool::ToolResult result{.content = {{"text/plain", "a"}}, .structured = *body};
  if (tool::pipeline::redact_at(result, answer->redact.result) > 0 && !result.structured) {
    std::abort();
  }
  (void)tool::pipeline::redact_at(*body, answer->redact.arguments);
  if (tool::guard::told_reasons(answer->reasons).starts_with(" ")) std::abort();
  return 0;
}
