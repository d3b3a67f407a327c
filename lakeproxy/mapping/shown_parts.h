#pragma once

// The parts of a table's row in lakeproxy_table that say what clients see:
// statistics files, and what is kept out of sight. Values and their JSON.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::ducklake {

[[nodiscard]] std::string out_of_sight_json(const model::OutOfSight& hidden);
/// Errors: kInvalid  not in the form that out_of_sight_json() writes.
[[nodiscard]] base::Result<model::OutOfSight> read_out_of_sight(std::string_view text);

[[nodiscard]] std::string statistics_json(const std::vector<base::json::Value>& files);
/// Errors: kInvalid  not an array.
[[nodiscard]] base::Result<std::vector<base::json::Value>> read_statistics(std::string_view text);

/// Refs and statistics may name a snapshot by the id that the client chose: the
/// one that the same commit added. They get the lake's.
void resolve_client_ids(const std::map<std::int64_t, model::SnapshotId>& aliases,
                        model::TableMetadata& metadata);

/// A spec that `known`, an earlier state of the table, shows because a manifest
/// came to need it, is shown in `table` as well: the record of that is written
/// without waiting for the disk. One that a client removed since stays hidden.
void keep_shown_specs(const model::LakeTable& known, model::LakeTable& table);

}  // namespace lake::ducklake
