#include "toolserver/connectors/command/command_tool.h"

#include <fmt/format.h>

#include <algorithm>

#include "toolserver/connectors/answer.h"
#include "toolserver/connectors/command/child.h"

namespace tool::command {
namespace {

using definition::CommandWork;
using definition::Template;

// Well below what the kernel takes for one (128 KiB) and for all (2 MiB).
constexpr std::size_t kMaxArgument = 64 << 10;
constexpr std::size_t kMaxArguments = 512 << 10;

const std::vector<definition::NamedSecret> kNoSecrets;

std::string how_it_ended(int code) {
  constexpr int kSignalBase = 128;
  if (code <= kSignalBase) return fmt::format("the program ended with exit code {}", code);
  return fmt::format("the program was ended by signal {}", code - kSignalBase);
}

Outcome<std::vector<std::string>> environment_of(const definition::ToolDefinition& tool,
                                                 const CommandWork& work,
                                                 const base::json::Object& args) {
  std::vector<std::string> out;
  for (const auto& [name, value] : work.environment) {
    auto text = value.render(args, tool.secrets, Template::Encoding::kPlain);
    if (!text) return to_fault(std::move(text).error());
    if (!*text) continue;
    if ((*text)->size() > kMaxArgument) {
      return refuse(Code::kShape, "args: more than 64 KiB for the variable " + name);
    }
    out.push_back(fmt::format("{}={}", name, **text));
  }
  return out;
}

}  // namespace

Outcome<std::vector<std::string>> arguments_of(const CommandWork& work,
                                               const base::json::Object& args) {
  std::vector<std::string> out;
  bool options_ended = false;
  std::size_t bytes = 0;
  for (const Template& element : work.arguments) {
    auto text = element.render(args, kNoSecrets, Template::Encoding::kPlain);
    if (!text) return to_fault(std::move(text).error());
    if (!*text) continue;
    std::string name = element.begins_with_argument() ? element.parts().front().text : "";
    if (!name.empty() && !options_ended && (*text)->starts_with('-')) {
      return refuse(Code::kShape, fmt::format("args.{}: must not begin with '-'", name));
    }
    bytes += (*text)->size();
    if ((*text)->size() > kMaxArgument || bytes > kMaxArguments) {
      return refuse(Code::kShape, "args: too long for arguments of a program");
    }
    options_ended = options_ended || element.literal() == "--";
    out.push_back(std::move(**text));
  }
  return out;
}

CommandTool::CommandTool(definition::ToolDefinition definition)
    : definition_(std::move(definition)) {}

base::Task<Outcome<ToolResult>> CommandTool::run(Approved<Invocation> call, Progress) {
  const auto& work = std::get<CommandWork>(definition_.work);
  ChildProgram program{.path = work.program, .folder = work.folder};
  CO_ASSIGN_OR_RETURN(program.arguments, arguments_of(work, call->args));
  CO_ASSIGN_OR_RETURN(program.environment, environment_of(definition_, work, call->args));
  CO_ASSIGN_OR_RETURN(program.input, connectors::payload_of(work.input, call->args));
  if (call->dry_run) co_return ToolResult{};
  ChildLimits limits{.output_bytes = definition_.capability.limits.output_bytes,
                     .deadline = call->context.deadline};
  auto end = co_await run_child(std::move(program), limits);
  if (!end) co_return to_fault(std::move(end).error());
  if (std::ranges::find(work.ok_codes, end->code) != work.ok_codes.end()) {
    co_return connectors::answer_of(definition_, std::move(end->output));
  }
  std::string text = how_it_ended(end->code);
  if (work.errors == definition::ErrorOutput::kShow && !end->errors.empty()) {
    text += "\n" + end->errors;
  }
  co_return connectors::failure_of(definition_, std::move(text));
}

}  // namespace tool::command
