#include "lakeproxy/to_iceberg/snapshot/manifest_tiers.h"

#include <algorithm>
#include <map>

namespace lake::materialize {
namespace {

using model::ManifestContent;

// As many small manifests of one tier become one of the next.
constexpr std::size_t kTierSize = 32;
constexpr int kLastTier = 2;

int tier_of(const model::ManifestFile& manifest) {
  int tier = 0;
  for (std::int64_t files = live_files(manifest); files >= static_cast<std::int64_t>(kTierSize);
       files /= static_cast<std::int64_t>(kTierSize)) {
    ++tier;
  }
  return std::min(tier, kLastTier);
}

struct TierKey {
  ManifestContent content;
  std::int32_t spec_id;
  int tier;
  friend auto operator<=>(const TierKey&, const TierKey&) = default;
};

}  // namespace

std::int64_t live_files(const model::ManifestFile& manifest) {
  return std::int64_t{manifest.added_files_count} + manifest.existing_files_count;
}

std::vector<std::vector<std::size_t>> due_merges(const std::vector<ListedManifest>& list,
                                                 model::SnapshotId snapshot) {
  std::map<TierKey, std::vector<std::size_t>> tiers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const model::ManifestFile& manifest = list[i].manifest;
    int tier = tier_of(manifest);
    if (tier == kLastTier || live_files(manifest) == 0) continue;
    if (manifest.added_snapshot_id == snapshot) continue;
    tiers[{manifest.content, manifest.partition_spec_id, tier}].push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [key, positions] : tiers) {
    if (positions.size() >= kTierSize) groups.push_back(std::move(positions));
  }
  return groups;
}

}  // namespace lake::materialize
