// Any bytes as a ENV file: the reader answers without a fault and within its
// time, and what it gives is fit to be shown and stays in its bounds.
//   clang++-22 -std=c++23 -g -O1 -I. -fsanitize=fuzzer,address,undefined -DFMT_SHARED \
//     fuzz/config_env_fuzz.cc base/config/sources.cc  base/core/text.cc \
//     base/core/error.cc -lfmt  -o config_env_fuzz
//   ./config_env_fuzz -max_len=4096 -timeout=5 fuzz/corpus/config_env

#include "fuzz/config_entries.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  check_entries(base::config::from_dotenv(text, "SCP_", "x.env"), "SCP_");
  return 0;
}
