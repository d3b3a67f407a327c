// Any bytes that a program or a server answers to a tool, that a file of the service holds about a
// call that ended, or that a child says of its start: no secret of the tool comes out, and what is
// kept is read as it was written.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/core/text.h"
#include "base/json/json.h"
#include "toolserver/connectors/answer.h"
#include "toolserver/isolate/first_steps.h"
#include "toolserver/outcomes/outcome.h"

namespace {

using tool::definition::AnswerForm;
using tool::definition::ToolDefinition;

constexpr std::string_view kSecret = "s3cr3t-t0ken";

void require(bool holds) {
  if (!holds) std::abort();
}

ToolDefinition tool_of(AnswerForm form) {
  ToolDefinition out{.capability = {.id = *tool::ToolId::parse("own.tool")}, .answer = form};
  out.secrets.push_back({"token", base::Secret(std::string(kSecret))});
  return out;
}

void check_content(const tool::ToolResult& result) {
  for (const auto& one : result.content) {
    require(base::is_utf8(one.data) && !one.data.contains(kSecret));
  }
}

void check_answer(const std::string& text) {
  static const ToolDefinition plain = tool_of(AnswerForm::kText);
  static const ToolDefinition json = tool_of(AnswerForm::kJson);
  if (auto answer = tool::connectors::answer_of(plain, text)) {
    require(base::is_utf8(text) && !answer->is_error);
    check_content(*answer);
  }
  for (const char* pointer : {"", "/a", "/a/0"}) {
    auto answer = tool::connectors::answer_of(json, text, pointer);
    if (!answer) continue;
    require(answer->structured.has_value());
    require(!base::json::write(*answer->structured).contains(kSecret));
    check_content(*answer);
  }
  check_content(tool::connectors::failure_of(plain, text));
}

void check_kept(std::string_view text) {
  const auto kept = tool::outcomes::read_kept(text);
  if (!kept) return;
  const std::string written = tool::outcomes::write_kept(*kept);
  const auto again = tool::outcomes::read_kept(written);
  require(again && tool::outcomes::write_kept(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_answer(text);
  check_kept(text);
  (void)tool::isolate::read_report(text);
  return 0;
}
