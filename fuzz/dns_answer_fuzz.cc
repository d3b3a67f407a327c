// Any bytes as an answer of a name server. What is taken belongs to the name that was
// asked for, is bounded, and leads nowhere but to hosts.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "toolserver/discovery/dns_answer.h"
#include "toolserver/discovery/found.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tool::discovery;
  std::string_view message(reinterpret_cast<const char*>(data), size);
  auto services = read_services(message, "_scp._tcp.plant.test");
  if (services) {
    if (services->size() > kRecords) std::abort();
    Found found;
    for (const auto& one : *services) {
      auto way = way_to(one.target, one.port, "127.0.0.1", Plain::kLoopback);
      if (!way) continue;
      if (!usable(*way, Plain::kLoopback)) std::abort();
      found.add(one.target.substr(0, one.target.find('.')), *way, Plain::kLoopback);
    }
    if (found.nodes.size() > kNodes) std::abort();
  }
  for (auto type : {RecordType::kA, RecordType::kAaaa}) {
    auto addresses = read_addresses(message, "node-b.plant.test", type);
    if (!addresses) continue;
    for (const auto& one : *addresses) {
      if (!way_to("node-b.plant.test", 1, one.address, Plain::kRefused)) std::abort();
    }
  }
  return 0;
}
