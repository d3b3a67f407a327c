// Any text as an answer of Consul or of etcd, and as a line of a watch. Every entry is
// taken or left out with a reason, and what is taken may be called.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/discovery/consul.h"
#include "toolserver/discovery/etcd.h"

namespace {

void check(const tool::discovery::Found& found) {
  using namespace tool::discovery;
  if (found.nodes.size() > kNodes || found.left_out.size() > kLeftOut) std::abort();
  for (const auto& [node, ways] : found.nodes) {
    if (ways.empty() || ways.size() > kWays) std::abort();
    for (const auto& way : ways) {
      if (!usable(way, Plain::kRefused)) std::abort();
    }
  }
  for (const auto& left : found.left_out) {
    if (left.why.empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tool::discovery;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)read_watch_line(text);
  auto value = base::json::parse(text, {.bytes = 1 << 16, .depth = 16, .values = 10'000});
  if (!value) return 0;
  if (auto found = read_consul(*value, Plain::kRefused)) check(*found);
  if (auto read = read_etcd(*value, "scp/", Plain::kRefused)) check(read->found);
  return 0;
}
