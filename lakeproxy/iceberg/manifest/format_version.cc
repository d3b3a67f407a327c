#include "lakeproxy/iceberg/manifest/format_version.h"

#include <cstdlib>

#include "lakeproxy/iceberg/manifest/manifest_versions.h"

namespace lake::materialize {
namespace {

std::int64_t next_of_chain(const model::Snapshot* parent, model::SnapshotId /*id*/) {
  return parent != nullptr ? parent->sequence_number + 1 : 1;
}

// Files that DuckDB compacted hold lake snapshot ids as the numbers of rows.
std::int64_t lake_snapshot(const model::Snapshot* /*parent*/, model::SnapshotId id) {
  return id.value;
}

constexpr FormatVersion kVersion2{encode_manifest_v2, encode_manifest_list_v2, next_of_chain,
                                  RowLineage::kNone, DeleteForm::kPositionFiles};
constexpr FormatVersion kVersion3{encode_manifest_v3, encode_manifest_list_v3, lake_snapshot,
                                  RowLineage::kKept, DeleteForm::kDeletionVectors};

}  // namespace

const FormatVersion& format_version(std::int32_t version) {
  switch (version) {
    case 2: return kVersion2;
    case 3: return kVersion3;
    default: std::abort();
  }
}

}  // namespace lake::materialize
