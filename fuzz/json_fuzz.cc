// Any bytes: parse() answers without a fault, and what it accepts comes back
// the same from its own text.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto value = base::json::parse(text, {.bytes = 1 << 16, .depth = 32, .values = 10'000});
  if (!value) return 0;
  std::string written = base::json::write(*value);
  auto again = base::json::parse(written);
  if (!again || base::json::write(*again) != written || *again != *value) std::abort();
  return 0;
}
