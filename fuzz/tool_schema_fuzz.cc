// Any schema and any value: compiling and checking end without a fault, and a
// schema that was taken judges a value the same each time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/pipeline/schema.h"

// The schema, a NUL, and the value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view all(reinterpret_cast<const char*>(data), size);
  std::size_t end = std::min(all.find('\0'), all.size());
  auto document = base::json::parse(all.substr(0, end), {.bytes = 1 << 16});
  if (!document || !document->is_object()) return 0;
  auto schema = tool::pipeline::Schema::compile(document->get_object());
  if (!schema) return 0;
  auto value = base::json::parse(all.substr(std::min(end + 1, all.size())), {.bytes = 1 << 16});
  if (!value) return 0;
  auto once = schema->check(*value, "value");
  auto twice = schema->check(*value, "value");
  if (once.has_value() != twice.has_value()) std::abort();
  return 0;
}
