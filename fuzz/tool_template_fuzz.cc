// Any template and any arguments: what is accepted is rendered without a fault,
// every element is one argument that begins with '-' only where the operator's
// own text does, and a path keeps the number of its segments.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/connectors/command/command_tool.h"
#include "toolserver/connectors/http/http_tool.h"

namespace {

using tool::definition::Template;

void check_argument(const Template& element, const base::json::Object& args) {
  tool::definition::CommandWork work;
  work.arguments = {element};
  auto got = tool::command::arguments_of(work, args);
  if (!got) return;
  if (got->size() > 1) std::abort();
  if (got->empty()) return;
  if (got->front().contains('\0')) std::abort();
  if (element.begins_with_argument() && got->front().starts_with('-')) std::abort();
}

void check_path(const Template& path, std::string_view text, const base::json::Object& args) {
  tool::definition::HttpWork work;
  work.path = path;
  if (path.holds(Template::Part::Kind::kSecret)) return;
  auto got = tool::http::target_of(work, args);
  if (!got) return;
  if (std::ranges::count(*got, '/') != std::ranges::count(text, '/')) std::abort();
}

}  // namespace

// The template, a NUL, and the arguments as JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view all(reinterpret_cast<const char*>(data), size);
  std::size_t end = std::min(all.find('\0'), all.size());
  std::string_view text = all.substr(0, end);
  auto parsed = Template::parse(text);
  if (!parsed) return 0;
  auto args = base::json::parse(all.substr(std::min(end + 1, all.size())), {.bytes = 1 << 16});
  if (!args || !args->is_object()) return 0;
  if (!parsed->holds(Template::Part::Kind::kSecret)) check_argument(*parsed, args->get_object());
  check_path(*parsed, text, args->get_object());
  return 0;
}
