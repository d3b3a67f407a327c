#pragma once

// The numbers that name things in the lake and in Iceberg.

#include <cstdint>

#include "base/core/strong_id.h"

namespace lake::model {

/// A snapshot of the lake, and of each table it changed: DuckLake's and
/// Iceberg's ids are the same number. Not negative.
using SnapshotId = base::StrongId<struct SnapshotIdTag>;
/// ducklake_schema.schema_id: an Iceberg namespace.
using NamespaceId = base::StrongId<struct NamespaceIdTag>;
/// ducklake_table.table_id.
using TableId = base::StrongId<struct TableIdTag>;
/// ducklake_data_file.data_file_id.
using DataFileId = base::StrongId<struct DataFileIdTag>;

/// Iceberg's field id, which is DuckLake's column_id. Positive.
using FieldId = std::int32_t;

}  // namespace lake::model
