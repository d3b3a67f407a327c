#pragma once

// The partition specs that clients make: our rows of them, and the lake's own
// partition by which DuckDB writes.
// Source: DuckLake specification 1.0, "ducklake_partition_info"; DuckDB's reading
// of it was looked at (ADR 0050).

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/mapping/sidecar_rows.h"

namespace lake::ducklake {

/// Whether files stay in the table that the commit gives a spec, or come with it,
/// which are not of that spec. DuckDB passes over such files when it looks for a
/// value of a bucketed column, so then the lake is told of no bucket.
enum class OtherFiles : std::uint8_t { kNone, kSome };

struct SpecPlace {
  SidecarPlace place;
  /// A lake partition takes the next of the delta's catalog ids, from this on.
  std::int64_t first_catalog_id = 0;
  OtherFiles others = OtherFiles::kSome;
  model::LakeTypes lake_types = {};  ///< Of the table's columns before.
  model::LakeFormat format = model::LakeFormat::k1_0;
};

/// What a commit does to the lake's partition of a table.
struct PartitionChange {
  bool ended = false;
  std::optional<std::int64_t> begun;
  std::int32_t spec_id = 0;  ///< The spec that it is begun for.
  model::PartitionKeys keys;
  bool bucketed = false;

  /// `table` as the commit's own files find it.
  [[nodiscard]] model::LakeTable applied_to(model::LakeTable table) const;
};

/// Adds the specs whose ids are not in `known`, and the lake's partition of
/// the default one if it is among them, as far as the lake can hold it.
/// Errors: kUnsupported  a void transform or one that is unknown.
[[nodiscard]] base::Result<PartitionChange> put_new_specs(const SchemaSql& sql,
                                                          const SpecPlace& place,
                                                          const model::TableMetadata& metadata,
                                                          const std::set<std::int32_t>& known,
                                                          LakeDelta& delta, DefinitionRows& rows);

/// The lake's partition rows that make a spec the default which the table had
/// before; nothing when the default stays or is new.
[[nodiscard]] PartitionChange change_default_spec(const SchemaSql& sql, const SpecPlace& place,
                                                  const model::TableMetadata& before,
                                                  const model::TableMetadata& after,
                                                  LakeDelta& delta, DefinitionRows& rows);

/// Ends the lake's partition of `before` where a column of it is gone in `after`: DuckDB
/// could not write a row to the table any more. What the default spec can be without it
/// is begun.
[[nodiscard]] PartitionChange end_without_columns(const SchemaSql& sql, const SpecPlace& place,
                                                  const model::LakeTable& before,
                                                  const model::TableMetadata& after,
                                                  LakeDelta& delta, DefinitionRows& rows);

}  // namespace lake::ducklake
