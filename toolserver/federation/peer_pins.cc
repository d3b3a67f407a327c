#include "toolserver/federation/peer_pins.h"

#include <fmt/format.h>

#include <utility>

#include "toolserver/federation/peer_records.h"

namespace tool::federation {
namespace {

// No bridge has a '.' in its name.
constexpr std::string_view kPrefix = "node.";

}  // namespace

std::string pin_name_of(std::string_view node_id) { return fmt::format("{}{}", kPrefix, node_id); }

std::optional<std::string> node_of_pin_name(std::string_view stem) {
  if (!stem.starts_with(kPrefix)) return {};
  return std::string(stem.substr(kPrefix.size()));
}

bool PeerPins::has_changed() const { return store_ && store_->stamp() != stamp_; }

base::Task<pipeline::Trust> PeerPins::see(std::vector<Capability> tools) {
  if (parts_.folder.empty()) {
    co_return pipeline::Trust{.first_seen = pipeline::FirstSeen::kTrust, .approved = {}};
  }
  std::map<std::string, pins::PinnedTool> seen;
  for (const auto& one : tools) {
    seen.emplace(one.id.text(), pins::PinnedTool{one.pin(), one.to_json(), 0, {}});
  }
  auto opened = store_ ? base::Result<pins::PinStore>(*store_)
                       : pins::PinStore::open(parts_.folder, pin_name_of(node_id_), clock_);
  base::Result<pins::PinFile> file = pins::PinFile();
  if (opened) {
    store_ = *opened;
    file = co_await parts_.pool.run([store = *store_, seen = std::move(seen)]() mutable {
      return store.see(std::move(seen), /*trust=*/true);
    });
    stamp_ = store_->stamp();
  } else {
    file = std::move(opened).error();
  }
  pipeline::Trust trust;
  if (!file) {
    log_.error("federation: the pins cannot be kept, so nothing is offered",
               {{"node", node_id_}, {"error", file.error().message()}});
    co_return trust;
  }
  report(*file);
  for (const auto& [id, approved] : file->approved) trust.approved.emplace(id, approved.pin);
  co_return trust;
}

// Once for each pin.
void PeerPins::report(const pins::PinFile& file) {
  if (reported_.size() > 2 * kFarTools) reported_.clear();
  for (const auto& [id, seen] : file.seen) {
    auto status = status_of(file, id);
    std::string now = fmt::format("{} {}", name(status), seen.pin);
    auto& before = reported_[id];
    if (before == now) continue;
    before = std::move(now);
    if (status == pins::PinStatus::kChanged) {
      log_.warning("federation: a tool has changed and waits for an approval",
                   {{"node", node_id_}, {"tool", id}});
    }
    parts_.record("peer_tool",
                  {{"node", node_id_}, {"tool", id}, {"pin", seen.pin}, {"state", name(status)}});
  }
}

}  // namespace tool::federation
