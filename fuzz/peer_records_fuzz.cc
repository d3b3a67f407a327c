// Any JSON as the list of another node: every record is offered or left out with a
// reason, in the node's namespace alone.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/federation/peer_records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto value = base::json::parse(text, {.bytes = 1 << 16, .values = 10'000});
  if (!value || !value->is_array()) return 0;
  auto tools = tool::federation::read_tools("node-b", "node-a", value->get_array());
  if (tools.usable.size() + tools.left_out.size() != value->get_array().size()) std::abort();
  for (const auto& one : tools.usable) {
    if (one.id.space() != "node-b" || one.origin_hash.empty()) std::abort();
    if (one.origin_name.find("node-a/") != std::string::npos) std::abort();
  }
  for (const auto& one : tools.left_out) {
    if (one.why.empty()) std::abort();
  }
  return 0;
}
