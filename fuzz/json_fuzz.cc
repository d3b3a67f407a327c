// Any bytes: parse() answers without a fault, and what it accepts comes back
// the same from its own text.
//   clang++-22 -std=c++23 -g -O1 -I. -fsanitize=fuzzer,address,undefined \
//     -DBOOST_JSON_DYN_LINK -DFMT_SHARED fuzz/json_fuzz.cc base/json/parse.cc base/json/write.cc \
//     base/core/text.cc base/core/error.cc -lboost_json -lboost_container -lfmt -o json_fuzz

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
