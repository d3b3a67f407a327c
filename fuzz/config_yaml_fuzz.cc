// Any bytes as a YAML file: the reader answers without a fault and within its
// time, and what it gives is fit to be shown and stays in its bounds.

#include "fuzz/config_entries.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  check_entries(base::config::from_yaml(text, "SCP_", "x.yaml"), "SCP_");
  return 0;
}
