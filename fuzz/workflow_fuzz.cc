// Any workflow file and any input: it is refused, or it is a workflow whose steps
// can be put in an order; its holes are filled or it is said why not, and a run of
// it that is written and read again stands where it stood.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/workflow/definition.h"
#include "toolserver/workflow/run.h"
#include "toolserver/workflow/tool_check.h"

namespace {

using namespace tool::workflow;  // NOLINT: this file is about nothing else.
namespace json = base::json;

void check(bool holds) {
  if (!holds) std::abort();
}

// Every tool is there, and its answer has the schema of the workflow's input.
tool::Outcome<json::Object> record(const Workflow& workflow) {
  json::Object out{{"annotations", {{"idempotentHint", true}}}};
  out["inputSchema"] = workflow.input.value_or(json::Object{{"type", "object"}});
  out["outputSchema"] = out["inputSchema"];
  return out;
}

// Each step answers its arguments, until none is left.
void run_to_its_end(const Workflow& workflow, const json::Value& input) {
  Run run(workflow, input), again(workflow, input);
  auto apply = [&](const Record& one) {
    check(run.apply(one).has_value());
    auto read = read_record(write_record(one), workflow.steps.size());
    check(read.has_value());
    std::ignore = again.ready();
    check(again.apply(*read).has_value());
  };
  for (std::size_t rounds = 0; rounds <= 2 * workflow.steps.size(); ++rounds) {
    auto ready = run.ready();
    for (const auto& end : ready.broken) apply(end);
    if (!ready.broken.empty()) continue;
    if (ready.steps.empty()) break;
    std::size_t step = ready.steps.front();
    auto arguments = run.arguments(step, Side::kDo, 1 << 16);
    End end{.step = step, .side = Side::kDo, .status = "ok", .message = {}, .result = {}};
    if (arguments) {
      apply(Begin{.step = step, .side = Side::kDo, .request_id = "r"});
      end.result = {{"is_error", false}, {"structured", arguments->values}};
    } else {
      end.status = "E_SHAPE";
    }
    apply(end);
  }
  std::ignore = again.ready();
  check(run.report() == again.report());
  std::ignore = run.output(1 << 16);
}

}  // namespace

// The file, a NUL, and the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view all(reinterpret_cast<const char*>(data), size);
  std::size_t end = std::min(all.find('\0'), all.size());
  auto source = json::parse(all.substr(0, end), {.bytes = 1 << 16});
  if (!source || !source->is_object()) return 0;
  auto workflow = read_workflow(std::move(source->get_object()), {.steps = 16});
  if (!workflow) return 0;
  auto input = json::parse(all.substr(std::min(end + 1, all.size())), {.bytes = 1 << 16});
  json::Value given = input ? std::move(*input) : json::Value();
  if (!check_input(*workflow, given)) return 0;
  std::ignore = check_tools(*workflow, *tool::Scopes::parse("tool:invoke:t.*"),
                            [&](const std::string&) { return record(*workflow); });
  run_to_its_end(*workflow, given);
  return 0;
}
