// Any bytes: parse_envelope() answers without a fault, and what it accepts
// comes back the same from its own canonical text.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "toolserver/model/envelope.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  tool::MessageLimits limits{.bytes = 1 << 16, .values = 10'000};
  (void)tool::origin_of(text, limits);
  auto envelope = tool::parse_envelope(text, limits);
  if (!envelope) return 0;
  auto written = tool::write_envelope(*envelope);
  if (!written) std::abort();
  auto again = tool::parse_envelope(*written, {.bytes = 1 << 20, .values = 20'000});
  if (!again || *tool::write_envelope(*again) != *written) std::abort();
  auto bare = tool::canonical_without_sig(*envelope);
  if (!bare || *bare != *tool::canonical_without_sig(*again)) std::abort();
  return 0;
}
