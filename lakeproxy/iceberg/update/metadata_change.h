#pragma once

// The changes of a commit, one function each, on the table as a value. They do
// no I/O and know no lake: a commit calls them in the order of its updates and
// then writes what came out. Each leaves the table as it was when it fails.
// Source: Iceberg REST description, "TableUpdate"; Iceberg table
// specification, "Schema Evolution", "Partition Evolution" and "Sorting".

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"
#include "lakeproxy/iceberg/update/table_update.h"

namespace lake::model {

/// What the server, not the client, decides about a new table.
struct NewTable {
  base::Uuid uuid{};
  std::string location;
  TimestampMs now_ms = 0;
  std::int32_t format_version = 2;  ///< If the request asks for none.
};

/// The format version that the property "format-version" asks for; nothing when unset.
/// Errors: kInvalid  neither 2 nor 3.
[[nodiscard]] base::Result<std::optional<std::int32_t>> requested_format_version(
    const CreateTable& request);

/// The request with columns numbered from 1 on, and its spec and sort order
/// pointing to the new numbers.
/// Errors: kInvalid  the spec or the order has a source that is no column.
[[nodiscard]] base::Result<CreateTable> with_fresh_ids(CreateTable request);

/// A table without snapshots, its columns and partition fields freshly
/// numbered. "format-version" goes before the version decided, and is recorded
/// as kFormatVersionProperty.
/// Errors: those of add_schema, add_spec, add_sort_order, set_properties and
///         requested_format_version.
[[nodiscard]] base::Result<TableMetadata> new_table(const CreateTable& request,
                                                    const NewTable& decided);

/// In set-current-schema and its kin: what was added last in the same request.
inline constexpr std::int32_t kLastAdded = -1;
/// Keys with this beginning are governance state and no client's to change.
inline constexpr std::string_view kReservedPropertyPrefix = "lakeproxy.";
/// Says which format version was asked for.
inline constexpr std::string_view kFormatVersionProperty = "lakeproxy.format-version";

enum class SchemaCheck : std::uint8_t {
  kEvolution,    ///< Old files are read with the new schema.
  kReplacement,  ///< main points to no snapshot: nothing has to fit.
};

/// The id itself, or for kLastAdded what `last_added` holds.
/// Errors: kInvalid  nothing was added in this request; `what` names it.
[[nodiscard]] base::Result<std::int32_t> resolve_last_added(std::int32_t id,
                                                            std::optional<std::int32_t> last_added,
                                                            std::string_view what);

// What a new schema may change (schema_evolution.cc). It is read over files written with the
// old ones, so it is what every reader can bridge: a field keeps its id, its place and a type
// that old values fit into.

/// Whether values of `from` can be read as `to`: the same type, int as long,
/// float as double, or a decimal with more digits of the same scale. Nested
/// types only compare their kinds: their fields are compared one by one.
[[nodiscard]] bool can_promote(const Type& from, const Type& to);

/// Errors: kInvalid  a type or a default that format `version` lacks; names the column.
/// Source: Iceberg table specification, "Primitive Types" and "Default values".
[[nodiscard]] base::Status check_format(const Schema& schema, std::int32_t version);

/// Checks that `next` may follow the table's current schema. `next` is valid.
/// Errors: kInvalid  a field changes to a type that old values do not fit,
///         moves to another struct, becomes required, is new and required
///         without a default, changes its initial default, or has an id that
///         was given away before; names the column.
[[nodiscard]] base::Status check_evolution(const TableMetadata& table, const Schema& next);

/// Adds the schema under a new id, or finds one with the same columns, which is
/// shown again if it was out of sight; raises
/// last_column_id. Returns the schema's id. It does not become current.
/// Errors: kInvalid  breaks validate(), check_format() or, with kEvolution,
///         check_evolution().
[[nodiscard]] base::Result<std::int32_t> add_schema(TableMetadata& table, Schema schema,
                                                    SchemaCheck check);
/// Errors: kInvalid  no such schema.
[[nodiscard]] base::Status set_current_schema(TableMetadata& table, std::int32_t schema_id);
/// They go out of sight (out_of_sight.h); ids that do not exist are passed over.
/// Errors: kInvalid  the current schema.
[[nodiscard]] base::Status remove_schemas(TableMetadata& table,
                                          const std::vector<std::int32_t>& schema_ids);

/// Adds the spec under a new id, or finds a compatible one, which is shown again
/// if it was out of sight; returns its id. A
/// field keeps the id it had in an older spec with the same source and
/// transform, or a given id that is new; others get the next ones.
/// Errors: kInvalid  a source that is no column of the current schema, or one
///         inside a list or map; a transform its type does not take; a name
///         that is empty, taken twice, or a column's (but for an identity of
///         that column); the same source and transform twice;
///         kUnsupported  the void transform, or one that is not known.
[[nodiscard]] base::Result<std::int32_t> add_spec(TableMetadata& table, PartitionSpec spec);
/// Errors: kInvalid  no such spec.
[[nodiscard]] base::Status set_default_spec(TableMetadata& table, std::int32_t spec_id);
/// They go out of sight at `revision` of the catalog; ids that do not exist are
/// passed over. Errors: kInvalid  the default spec.
[[nodiscard]] base::Status remove_specs(TableMetadata& table,
                                        const std::vector<std::int32_t>& spec_ids,
                                        std::int64_t revision);

/// Adds the order under a new id, or finds one with the same fields; returns
/// its id. An order without fields is 0.
/// Errors: kInvalid  a source that is no column of the current schema, or a
///         transform its type does not take.
[[nodiscard]] base::Result<std::int32_t> add_sort_order(TableMetadata& table, SortOrder order);
/// Errors: kInvalid  no such sort order.
[[nodiscard]] base::Status set_default_sort_order(TableMetadata& table, std::int32_t order_id);

/// Takes the snapshots and their statistics away, and the log up to the last of
/// them, as Iceberg does. Ids that do not exist are passed over.
/// Errors: kConflict  the current snapshot, or one that a tag or a branch names.
[[nodiscard]] base::Status remove_snapshots(TableMetadata& table, const std::set<SnapshotId>& ids);

/// Puts `file`, a statistics file or a partition statistics file, in the place of
/// the one of the same snapshot, which `snapshot` is: it may have a name of the
/// client's.
void set_statistics(std::vector<base::json::Value>& files, base::json::Value file,
                    SnapshotId snapshot);
/// Passed over when there is none.
void remove_statistics(std::vector<base::json::Value>& files, SnapshotId snapshot);
/// The snapshot that a statistics file is of; nothing for one without.
[[nodiscard]] std::optional<SnapshotId> statistics_snapshot(const base::json::Value& file);

/// The version is recorded as kFormatVersionProperty.
/// Errors: kInvalid  neither 2 nor 3, or lower than the table's: what needs the
///         higher one may be in its files.
[[nodiscard]] base::Status set_format_version(TableMetadata& table, std::int32_t version);

/// Errors: kForbidden  the key is reserved; names it. kInvalid  not 1 to 1,024 bytes of UTF-8.
[[nodiscard]] base::Status check_property_key(std::string_view key);
/// Errors: of check_property_key, for any key; nothing is set then.
[[nodiscard]] base::Status set_properties(TableMetadata& table,
                                          const std::map<std::string, std::string>& updates);
/// Keys that are not set are passed over. Errors: of check_property_key.
[[nodiscard]] base::Status remove_properties(TableMetadata& table,
                                             const std::vector<std::string>& removals);

/// What holds at the end of a request only, as its updates may come in any
/// order: the columns of the default spec and sort order are in the current schema.
/// Errors: kInvalid  one is not; names the partition field or the column's id.
[[nodiscard]] base::Status check_default_columns(const TableMetadata& table);

/// `table` is null when there is none.
/// Errors: kConflict  the requirement does not hold; says what was expected and what is.
/// Source: Iceberg REST description, "TableRequirement".
[[nodiscard]] base::Status check_requirement(const TableMetadata* table,
                                             const TableRequirement& requirement);

}  // namespace lake::model
