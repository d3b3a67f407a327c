// Any JSON as what another node says: its list, or its answer to a call. Every
// record is offered or left out with a reason, in the node's namespace alone,
// and what is taken for text is marked as text.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/federation/peer_answer.h"
#include "toolserver/federation/peer_records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto value = base::json::parse(text, {.bytes = 1 << 16, .values = 10'000});
  if (!value) return 0;
  if (value->is_array()) {
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
  if (!value->is_object()) return 0;
  auto reply = tool::federation::read_reply(std::move(value->get_object()));
  if (!reply && reply.error().code != tool::Code::kUpstream &&
      reply.error().code != tool::Code::kLimit) {
    std::abort();
  }
  return 0;
}
