// A program that serves a function of its own as a tool, by the configuration
// in the working directory (`securetool init` writes one):
//   serve_tool
// A caller needs the scope tool:invoke:text.reverse.

#include <algorithm>

#include "toolserver/app/command.h"

int main(int argc, char** argv) {
  if (auto code = tool::app::run_if_child(argc, argv)) return *code;
  auto reverse = tool::app::read_only_tool("text.reverse", "Reverses a text of ASCII.",
                                           {{"text", {{"type", "string"}, {"maxLength", 1000}}}});
  if (!reverse) return 2;
  tool::app::Extensions own;
  own.add_tool(std::move(*reverse), [](const tool::Invocation& call) {
    std::string text(call.args.at("text").get_string());
    std::ranges::reverse(text);
    return tool::connectors::text_result(std::move(text));
  });
  return tool::app::serve({}, std::move(own));
}
