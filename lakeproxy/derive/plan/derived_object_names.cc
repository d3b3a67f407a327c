#include "lakeproxy/derive/plan/derived_object_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "lakeproxy/model/server_folder.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

// Ends the name of a file whose bytes follow from it: a 0, and what the format version makes
// different. Not ".parquet": DuckLake's own clean-up takes such files for orphans.
std::string edition(const model::LakeTable& table) {
  if (table.metadata.format_version == 2) return "0";
  return fmt::format("0-v{}", table.metadata.format_version);
}

}  // namespace

std::string inlined_location(const model::LakeTable& table, std::int64_t schema_version,
                             SnapshotId begin, std::string_view changed) {
  return fmt::format("{}inlined-{}-{}-{}{}{}", model::server_folder(table.metadata.location),
                     schema_version, begin.value, edition(table), changed.empty() ? "" : "-c",
                     changed);
}

std::optional<InlinedPlace> parse_inlined_location(const model::LakeTable& table,
                                                   std::string_view location) {
  const std::string prefix = model::server_folder(table.metadata.location) + "inlined-";
  if (!location.starts_with(prefix)) return std::nullopt;
  std::string_view rest = location.substr(prefix.size());
  auto number = [&rest] {
    const std::string_view part = rest.substr(0, rest.find('-'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return base::parse_int64(part);
  };
  const auto version = number();
  const auto begin = number();
  if (!version || !begin) return std::nullopt;
  std::string_view changed;
  if (auto mark = rest.find("-c"); mark != std::string_view::npos) {
    changed = rest.substr(mark + 2);
    if (changed.empty() ||
        changed.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
      return std::nullopt;
    }
  }
  // A spelling of our own: or it is somebody else's file.
  if (inlined_location(table, *version, SnapshotId(*begin), changed) != location) {
    return std::nullopt;
  }
  return InlinedPlace{*version, SnapshotId(*begin)};
}

std::string delete_location(const model::LakeTable& table, std::string_view data_file,
                            SnapshotId snapshot) {
  return fmt::format("{}deletes-{}-{}-{}", model::server_folder(table.metadata.location), data_file,
                     snapshot.value, edition(table));
}

std::string puffin_beginning(const model::LakeTable& table, SnapshotId snapshot) {
  return fmt::format("{}deletes-{}-{}", model::server_folder(table.metadata.location),
                     snapshot.value, edition(table));
}

}  // namespace lake::materialize
