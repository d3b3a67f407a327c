// Any bytes as a packed file: no fault, and never more than the limit.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/gzip/gunzip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 1 << 20;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto unpacked = base::gzip::gunzip(bytes, kLimit);
  if (unpacked && unpacked->size() > kLimit) std::abort();
  if (unpacked && !base::gzip::is_gzip(bytes)) std::abort();
  return 0;
}
