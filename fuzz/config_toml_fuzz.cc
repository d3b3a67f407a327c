// Any bytes as a TOML file: the reader answers without a fault and within its
// time, and what it gives is fit to be shown and stays in its bounds.
//   clang++-22 -std=c++23 -g -O1 -I. -fsanitize=fuzzer,address,undefined -DFMT_SHARED
//   -DTOML_HEADER_ONLY=0 -DTOML_SHARED_LIB=1 \
//     fuzz/config_toml_fuzz.cc base/config/sources.cc base/config/tree_entries.cc
//     base/config/toml_source.cc base/core/text.cc \ base/core/error.cc -lfmt -ltomlplusplus -o
//     config_toml_fuzz
//   ./config_toml_fuzz -max_len=4096 -timeout=5 fuzz/corpus/config_toml

#include "fuzz/config_entries.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  check_entries(base::config::from_toml(text, "SCP_", "x.toml", base::config::Nesting::kNested),
                "SCP_");
  return 0;
}
