#pragma once

// Names of the files that are made of what no Iceberg client can read: inlined
// rows, and deletes. They are a function of table, snapshot and format
// version, so that a later change finds the files again (ADR 0010).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::materialize {

/// Where the rows that began at `begin` under `schema_version` stand. `changed`: the signature of
/// what clients see of them otherwise since (model::ChangedColumns), if there is something.
[[nodiscard]] std::string inlined_location(const model::LakeTable& table,
                                           std::int64_t schema_version, model::SnapshotId begin,
                                           std::string_view changed = {});

/// What such a location names; nothing for any other.
struct InlinedPlace {
  std::int64_t schema_version = 0;
  model::SnapshotId begin;
};
[[nodiscard]] std::optional<InlinedPlace> parse_inlined_location(const model::LakeTable& table,
                                                                 std::string_view location);

/// Where the deletes of one data file as of `snapshot` stand. `data_file` names
/// it among those of the table.
[[nodiscard]] std::string delete_location(const model::LakeTable& table, std::string_view data_file,
                                          model::SnapshotId snapshot);

/// What the location of a Puffin file begins with whose vectors `snapshot` is the
/// first to name.
[[nodiscard]] std::string puffin_beginning(const model::LakeTable& table,
                                           model::SnapshotId snapshot);

}  // namespace lake::materialize
