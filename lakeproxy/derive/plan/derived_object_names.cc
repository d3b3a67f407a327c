#include "lakeproxy/derive/plan/derived_object_names.h"

#include <fmt/format.h>

#include "base/core/text.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

// Ends the name of a file whose bytes follow from it: the epoch, and what the
// format version makes different. Not ".parquet": DuckLake's own clean-up takes
// such files for orphans.
std::string edition(const model::LakeTable& table) {
  if (table.metadata.format_version == 2) return fmt::to_string(table.epoch);
  return fmt::format("{}-v{}", table.epoch, table.metadata.format_version);
}

}  // namespace

std::string inlined_location(const model::LakeTable& table, std::int64_t schema_version,
                             SnapshotId begin) {
  return fmt::format("{}/metadata/inlined-{}-{}-{}", table.metadata.location, schema_version,
                     begin.value, edition(table));
}

std::optional<InlinedPlace> parse_inlined_location(const model::LakeTable& table,
                                                   std::string_view location) {
  const std::string prefix = table.metadata.location + "/metadata/inlined-";
  if (!location.starts_with(prefix)) return std::nullopt;
  std::string_view rest = location.substr(prefix.size());
  const std::size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  auto version = base::parse_int64(rest.substr(0, dash));
  auto begin = base::parse_int64(rest.substr(dash + 1, rest.find('-', dash + 1) - dash - 1));
  if (!version || !begin) return std::nullopt;
  InlinedPlace place{*version, SnapshotId(*begin)};
  // A spelling of our own, and of this epoch: or it is somebody else's file.
  if (inlined_location(table, place.schema_version, place.begin) != location) return std::nullopt;
  return place;
}

std::string delete_location(const model::LakeTable& table, std::string_view data_file,
                            SnapshotId snapshot) {
  return fmt::format("{}/metadata/deletes-{}-{}-{}", table.metadata.location, data_file,
                     snapshot.value, edition(table));
}

std::string puffin_beginning(const model::LakeTable& table, SnapshotId snapshot) {
  return fmt::format("{}/metadata/deletes-{}-{}", table.metadata.location, snapshot.value,
                     edition(table));
}

}  // namespace lake::materialize
