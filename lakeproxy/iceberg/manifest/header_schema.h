#pragma once

// A manifest's partition values have the types of their source columns, so its
// schema must hold all of them. The snapshot's own schema may not: a column was
// dropped after its partition field, or has another width than it had when the
// file was written.
// Source: Iceberg table specification, "Manifests", "Schema Evolution".

#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/manifest/partition_struct.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"

namespace lake::materialize {

/// Whether each transform of `spec` is defined for the type that its source has in `schema`. A
/// source that is not there decides nothing: its values stay what they were.
/// Source: Iceberg table specification, "Partition Transforms".
[[nodiscard]] bool fits(const model::PartitionSpec& spec, const model::Schema& schema);

/// Whether values of `spec` under the columns of `from` are values of it under those of `to`. A
/// source that one of them lacks decides nothing.
[[nodiscard]] bool keeps_values(const model::PartitionSpec& spec, const model::Schema& from,
                                const model::Schema& to);

/// The schema `snapshot_schema_id` (the current one if there is none) for a
/// spec without fields, else the table's newest one with all sources of `spec`, of types that its
/// transforms take where there is one.
/// Errors: kCorrupt  no schema has them all.
[[nodiscard]] base::Result<model::Schema> header_schema(const model::TableMetadata& table,
                                                        const model::PartitionSpec& spec,
                                                        std::int32_t snapshot_schema_id);

/// Gives values the types of their columns, where an int became a long or a
/// float a double, or the other way round without loss. What does not fit is
/// left as it is.
void fit_partition(const std::vector<PartitionColumn>& columns, model::PartitionTuple& tuple);

/// fit_partition() of all `entries`, with the columns of `spec` under `schema`.
/// Errors: as partition_columns().
[[nodiscard]] base::Status fit_partitions(const model::Schema& schema,
                                          const model::PartitionSpec& spec,
                                          std::vector<model::ManifestEntry>& entries);

}  // namespace lake::materialize
