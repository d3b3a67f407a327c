#pragma once

// The JSON forms of the model, read and written, as Iceberg defines them. They
// are the same in metadata.json, in manifest headers and on the wire.
// Source: Iceberg table specification, Appendix C.

#include <string>

#include "base/core/result.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "lakeproxy/model/partition_spec.h"
#include "lakeproxy/model/schema.h"
#include "lakeproxy/model/snapshot.h"
#include "lakeproxy/model/table_metadata.h"

namespace lake::model {

// Every reader fails with kInvalid and names the path and the rule.

[[nodiscard]] base::json::Value to_json(const Type& type);
[[nodiscard]] base::Result<Type> type_from_json(const base::json::Value& value, std::string path);

/// With "type": "struct", "schema-id" and "identifier-field-ids" when any.
[[nodiscard]] base::json::Value to_json(const Schema& schema);
[[nodiscard]] base::Result<Schema> schema_from_json(const base::json::Fields& json);

/// {"spec-id", "fields"}.
[[nodiscard]] base::json::Value to_json(const PartitionSpec& spec);
/// The array of fields alone, as a manifest's header holds it.
[[nodiscard]] base::json::Value fields_to_json(const PartitionSpec& spec);
/// Field ids may be absent: they are then numbered from 1000 on.
[[nodiscard]] base::Result<PartitionSpec> partition_spec_from_json(const base::json::Fields& json);
[[nodiscard]] base::Result<std::vector<PartitionField>> partition_fields_from_json(
    const base::json::Value& array, std::string path);

[[nodiscard]] base::json::Value to_json(const SortOrder& order);
[[nodiscard]] base::Result<SortOrder> sort_order_from_json(const base::json::Fields& json);

[[nodiscard]] base::json::Value to_json(const Snapshot& snapshot);
[[nodiscard]] base::Result<Snapshot> snapshot_from_json(const base::json::Fields& json);
[[nodiscard]] base::json::Value to_json(const SnapshotRef& ref);
[[nodiscard]] base::Result<SnapshotRef> snapshot_ref_from_json(const base::json::Fields& json);

/// A single value in its JSON form. Source: Appendix D, "JSON single-value serialization".
[[nodiscard]] base::json::Value to_json(const Literal& literal, const Type& type);
[[nodiscard]] base::Result<Literal> literal_from_json(const base::json::Value& value,
                                                      const Type& type, std::string path);

}  // namespace lake::model
