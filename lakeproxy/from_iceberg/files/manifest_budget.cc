#include "lakeproxy/from_iceberg/files/manifest_budget.h"

#include <algorithm>

namespace lake::operation {
namespace {

std::size_t statistics_of(const materialize::Manifest& manifest) {
  std::size_t count = 0;
  for (const auto& entry : manifest.entries) count += entry.data_file.metrics.size();
  return count;
}

bool take(std::size_t& left, std::size_t wanted) {
  if (wanted > left) return false;
  left -= wanted;
  return true;
}

}  // namespace

materialize::ManifestLimits ManifestBudget::left() const {
  materialize::ManifestLimits limits;
  limits.entries = std::min(limits.entries, entries_);
  limits.statistics = std::min(limits.statistics, statistics_);
  limits.avro.total_bytes = std::min(limits.avro.total_bytes, bytes_);
  return limits;
}

base::Status ManifestBudget::spend(const materialize::Manifest& manifest) {
  if (take(entries_, manifest.entries.size()) && take(statistics_, statistics_of(manifest)) &&
      take(bytes_, manifest.unpacked_bytes)) {
    return {};
  }
  return base::fail(base::ErrorKind::kTooLarge,
                    "its manifests hold more than one commit may; commit in parts");
}

}  // namespace lake::operation
