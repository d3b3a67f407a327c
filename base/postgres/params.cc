#include <fmt/format.h>

#include "base/core/text.h"
#include "base/postgres/session.h"

namespace base::pg {
namespace {

// Inside quotes only these two need an escape; commas, braces, blanks and the
// word NULL are plain there.
void append_quoted(std::string& out, std::string_view element) {
  out.push_back('"');
  for (char c : element) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

}  // namespace

Param param(std::int64_t value) { return fmt::to_string(value); }

Param param(std::optional<std::int64_t> value) {
  return value ? Param(fmt::to_string(*value)) : std::nullopt;
}

Param param(bool value) { return std::string(value ? "t" : "f"); }

Param bytes_param(std::string_view bytes) {
  auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return "\\x" + to_hex(std::span(data, bytes.size()));
}

Param array_param(const std::vector<std::int64_t>& values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

Param array_param(const std::vector<std::optional<std::string>>& values) {
  std::string out = "{";
  for (const auto& value : values) {
    if (out.size() > 1) out.push_back(',');
    if (value) {
      append_quoted(out, *value);
    } else {
      out += "NULL";
    }
  }
  out.push_back('}');
  return out;
}

}  // namespace base::pg
