#include "lakeproxy/derive/plan/derived_object_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

// Ends the name of a file whose bytes follow from it: a 0, where earlier releases counted
// how often files were replaced, and what the format version makes different. Not ".parquet":
// DuckLake's own clean-up takes such files for orphans.
std::string edition(const model::LakeTable& table, std::int64_t count = 0) {
  if (table.metadata.format_version == 2) return fmt::to_string(count);
  return fmt::format("{}-v{}", count, table.metadata.format_version);
}

std::string inlined_name(const model::LakeTable& table, std::int64_t schema_version,
                         SnapshotId begin, std::int64_t count = 0) {
  return fmt::format("{}/metadata/inlined-{}-{}-{}", table.metadata.location, schema_version,
                     begin.value, edition(table, count));
}

}  // namespace

std::string inlined_location(const model::LakeTable& table, std::int64_t schema_version,
                             SnapshotId begin) {
  return inlined_name(table, schema_version, begin);
}

std::optional<InlinedPlace> parse_inlined_location(const model::LakeTable& table,
                                                   std::string_view location) {
  const std::string prefix = table.metadata.location + "/metadata/inlined-";
  if (!location.starts_with(prefix)) return std::nullopt;
  std::string_view rest = location.substr(prefix.size());
  auto number = [&rest] {
    const std::string_view part = rest.substr(0, rest.find('-'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return base::parse_int64(part);
  };
  const auto version = number();
  const auto begin = number();
  const auto count = number();
  if (!version || !begin || !count) return std::nullopt;
  // A spelling of our own: or it is somebody else's file.
  if (inlined_name(table, *version, SnapshotId(*begin), *count) != location) return std::nullopt;
  return InlinedPlace{*version, SnapshotId(*begin)};
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
