#pragma once

// A table as the lake holds it: DuckLake's rows, read into values, with paths
// resolved and nothing yet translated into Iceberg's manifests.
// Source: DuckLake specification 1.0, "Tables".

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/table/lake_sort.h"
#include "lakeproxy/ducklake/table/row_snapshot_ids.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"
#include "lakeproxy/model/ids.h"
#include "lakeproxy/model/lake_format.h"

namespace lake::model {

/// The newest state of one catalog: what DuckDB and we commit raises the snapshot;
/// what only we keep (properties, refs) and the removal of old snapshots raise the
/// revision. The time tells two histories apart that reached the same numbers, as
/// after a failover to a replica that lacked the last commits. A client of DuckDB may
/// migrate the lake to another format, which raises neither number.
struct LakeVersion {
  SnapshotId snapshot;
  std::int64_t revision = 0;
  std::int64_t snapshot_ms = 0;  ///< The lake's time of `snapshot`, since 1970.
  LakeFormat format = LakeFormat::k1_0;

  friend bool operator==(const LakeVersion&, const LakeVersion&) = default;
};

/// Lake types of columns, and parts of columns, that clients see as a type which the lake
/// calls otherwise: an int128 that is a double to them, a timetz that is a time.
using LakeTypes = std::map<FieldId, std::string>;

/// DuckLake's statistics of one column in one file, in DuckLake's text form.
struct LakeColumnStats {
  FieldId column_id = 0;
  std::optional<std::int64_t> column_size_bytes;
  std::optional<std::int64_t> value_count;
  std::optional<std::int64_t> null_count;
  std::optional<std::string> min_value;
  std::optional<std::string> max_value;
  /// Nothing to rely on: DuckDB 1.5.5 writes that of a file's last row group.
  std::optional<bool> contains_nan;
  std::optional<std::int64_t> nan_count;  ///< Exact, from our sidecar.
  /// Our sidecar has its last word: a nan_count that is absent stays so.
  bool nan_count_settled = false;

  friend bool operator==(const LakeColumnStats&, const LakeColumnStats&) = default;
};

/// What an Iceberg client said about a file that it committed.
struct IcebergFileFacts {
  std::int32_t spec_id = 0;
  PartitionTuple partition;
  std::vector<std::int64_t> split_offsets;
  std::optional<std::int32_t> sort_order_id;
  std::optional<std::string> key_metadata;

  friend bool operator==(const IcebergFileFacts&, const IcebergFileFacts&) = default;
};

/// What a readable copy of a data file does to one column, or part of one.
struct CopiedColumn {
  FieldId id = 0;
  std::string from;            ///< Lake type of the values in the file, or of `constant`.
  Type to{TypeKind::kString};  ///< As clients see them.
  std::string name;            ///< Of a column that the file lacks.
  /// The value of such a column, in the lake's text.
  std::optional<std::string> constant = std::nullopt;

  friend bool operator==(const CopiedColumn&, const CopiedColumn&) = default;
};

/// How DuckDB finds the columns of files that it did not write: one mapping_id
/// of ducklake_name_mapping.
struct LakeNameMap {
  struct Column {
    std::string name;      ///< In the file, or in its path.
    bool in_path = false;  ///< Its value stands in the path ("name=value").

    friend bool operator==(const Column&, const Column&) = default;
  };
  /// By the table's field; what the files do not hold is not in it.
  std::map<FieldId, Column> columns;

  [[nodiscard]] bool stands_in_path(FieldId id) const {
    auto named = columns.find(id);
    return named != columns.end() && named->second.in_path;
  }

  friend bool operator==(const LakeNameMap&, const LakeNameMap&) = default;
};

/// How a copy of a file that was added as it is finds its columns, whatever field ids it has.
struct AddedColumns {
  std::vector<Field> fields;  ///< The table's, when the file was added.
  LakeNameMap names;          ///< The file holds those of them that stand in it.

  friend bool operator==(const AddedColumns&, const AddedColumns&) = default;
};

/// A copy that stands for a data file whose values not every client reads right: the same rows
/// in the same order, under the same field ids.
struct ReadableCopy {
  std::string source;  ///< Location of the lake's own file.
  std::string location;
  std::string signature;
  std::vector<CopiedColumn> columns;
  std::shared_ptr<const AddedColumns> added = nullptr;  ///< Of a file that was added as it is.
  SnapshotId shown_at;                                  ///< Its types are those of this snapshot,
  SnapshotId since;  ///< and of all that show the file from this one on.
  std::int64_t source_bytes = 0;
  bool is_made = false;
  std::optional<std::string> failure = std::nullopt;  ///< Why none can be made.

  friend bool operator==(const ReadableCopy&, const ReadableCopy&) = default;
};

/// Of the files of a table that need copies.
struct CopyProgress {
  std::size_t made = 0;
  std::size_t wanted = 0;
};

/// One row of ducklake_data_file.
struct LakeDataFile {
  DataFileId id;
  SnapshotId begin;
  std::optional<SnapshotId> end;  ///< First snapshot that does not show it.
  std::string path;               ///< Absolute location; that of `copy` where it has one.
  std::string format = "parquet";
  std::int64_t record_count = 0;
  std::int64_t file_size_bytes = 0;
  std::optional<std::int64_t> row_id_start;
  std::optional<std::int64_t> partition_id;
  std::optional<std::int64_t> mapping_id;
  /// Holds rows up to this snapshot: older snapshots see only part of it.
  std::optional<SnapshotId> partial_max;
  std::vector<LakeColumnStats> stats;
  /// By partition_key_index of the file's partition_id.
  std::vector<std::optional<std::string>> partition_values;
  std::optional<IcebergFileFacts> iceberg;
  std::optional<ReadableCopy> copy = std::nullopt;

  friend bool operator==(const LakeDataFile&, const LakeDataFile&) = default;
};

/// One row of ducklake_delete_file: positions of one data file, cumulative.
struct LakeDeleteFile {
  std::int64_t id = 0;
  DataFileId data_file_id;
  SnapshotId begin;
  std::optional<SnapshotId> end;
  std::string path;
  std::string format = "parquet";  ///< "parquet" or "puffin".
  std::int64_t delete_count = 0;
  std::int64_t file_size_bytes = 0;
  /// Holds deletes of snapshots up to this one, each with its snapshot.
  std::optional<SnapshotId> partial_max;
  /// Without a partial_max, of a file whose rows a flush has written: the flush. A delete file
  /// that begins before it was written with them, and holds deletes of any snapshot before it.
  std::optional<SnapshotId> flushed_at = std::nullopt;
};

/// One row that DuckDB keeps in PostgreSQL, in ducklake_inlined_data_*.
struct LakeInlinedRow {
  std::int64_t row_id = 0;
  SnapshotId begin;
  std::optional<SnapshotId> end;
  /// One value for each of `columns`: the bytes themselves of strings and
  /// binaries, DuckDB's text form of anything else.
  std::vector<std::optional<std::string>> values;
};

/// What of inlined rows clients see otherwise than they were inserted: a later ALTER changed a
/// column's type or brought one with a default, where Iceberg has no word for that.
struct ChangedColumns {
  std::string signature;
  std::vector<CopiedColumn> columns;

  friend bool operator==(const ChangedColumns&, const ChangedColumns&) = default;
};

struct LakeInlinedTable {
  std::int64_t schema_version = 0;
  /// The top-level columns, as they were at that schema version.
  std::vector<Field> columns;
  LakeTypes lake_types;  ///< Of then.
  std::vector<LakeInlinedRow> rows;
  /// By the snapshot at which rows began; only those that need it.
  std::map<SnapshotId, ChangedColumns> changed = {};
};

/// One row of ducklake_inlined_delete_*.
struct LakeInlinedDelete {
  DataFileId data_file_id;
  std::int64_t row_id = 0;  ///< As DuckLake stores it; see derive/.
  SnapshotId begin;
};

/// One commit to the lake that changed rows of the table.
struct LakeCommit {
  SnapshotId snapshot;
  TimestampMs committed_ms = 0;
  std::string changes_made;
  /// Of DuckDB's set_commit_message().
  std::optional<std::string> author = std::nullopt;
  std::optional<std::string> commit_message = std::nullopt;
  /// ducklake_snapshot_changes.commit_extra_info: for a commit made through us
  /// the client's summary as a JSON object.
  std::optional<std::string> extra_info;
  /// Rows may have changed since the commit before in snapshots that are gone or hidden.
  bool stands_for_others = false;

  friend bool operator==(const LakeCommit&, const LakeCommit&) = default;
};

/// Everything that happened to the rows of a table in the snapshots
/// (after, up_to], oldest first, with the rows that the changes touch: files
/// that begin or end in that range, the files that deletes in it refer to with
/// all their deletes, and inlined rows: all that share a begin_snapshot and a
/// table with one that begins or ends in it.
struct LakeChanges {
  std::optional<SnapshotId> after;  ///< Nothing: from the beginning.
  SnapshotId up_to;
  std::vector<LakeCommit> commits;
  std::map<DataFileId, LakeDataFile> data_files;
  /// Of files that were added as they are: what stands for them if clients would read them
  /// otherwise than DuckDB, which their footers say.
  std::map<DataFileId, ReadableCopy> copies_if_unlike;
  std::vector<LakeDeleteFile> delete_files;
  std::vector<LakeInlinedTable> inlined;
  std::vector<LakeInlinedDelete> inlined_deletes;
  /// Of the delete files that were looked into for deletes of several snapshots, by id.
  std::map<std::int64_t, std::shared_ptr<const RowEnds>> row_ends;
  /// Files were replaced after this snapshot was published: instead of changes
  /// there is all that some snapshot from it on shows, as the lake has it now, and
  /// `after` is nothing. The first of `commits` is told apart from what is published.
  std::optional<SnapshotId> published;
  /// Beside `published`: the first snapshot after it at which rows may differ from its own,
  /// by the lake's log. Nothing when maintenance alone happened.
  std::optional<SnapshotId> first_row_change;
};

/// How a lake partition's values belong to the fields of the spec it is shown as.
struct PartitionKeys {
  std::int64_t count = 0;  ///< Keys of the lake's partition; some may not be shown.
  /// For each field of the spec its partition_key_index, or nothing.
  std::vector<std::optional<std::int64_t>> of_field;
  /// Fields of the spec of which the lake holds Iceberg's own numbers, counted from 1970. Of
  /// another year, month, day or hour it holds calendar parts, which say nothing here.
  std::set<std::size_t> ordinals = {};

  friend bool operator==(const PartitionKeys&, const PartitionKeys&) = default;
};

/// A table's definition and history, without its files.
struct LakeTable {
  TableId table_id;
  NamespaceId namespace_id;
  std::string name;
  LakeVersion version;  ///< The state of the catalog it was read at.
  /// Iceberg's view without snapshots: uuid, location, schemas, specs, sort
  /// orders, properties, refs, format version, metadata log.
  TableMetadata metadata;
  /// Which Iceberg schema is current from a lake snapshot on, oldest first.
  std::map<SnapshotId, std::int32_t> schema_at;
  /// The schema that is current at a snapshot; null before the first.
  [[nodiscard]] const Schema* schema_of(SnapshotId snapshot) const {
    auto after = schema_at.upper_bound(snapshot);
    return after == schema_at.begin() ? nullptr : metadata.find_schema(std::prev(after)->second);
  }
  LakeTypes lake_types;  ///< Of now.
  /// Columns that are NOT NULL in the lake now and optional to clients: see allow_nulls().
  std::set<FieldId> not_null_in_lake = {};
  /// Iceberg spec of a ducklake_partition_info.partition_id; files without one
  /// stand under `unpartitioned_spec_id`.
  std::map<std::int64_t, std::int32_t> spec_of_partition;
  /// Nothing until a file needs it: a table that clients made may have no such spec.
  std::optional<std::int32_t> unpartitioned_spec_id = 0;
  std::map<std::int64_t, PartitionKeys> keys_of_partition;
  /// The lake's partition of now, if a bucket is among its keys: DuckDB looks for
  /// a value of the column only in files that have the bucket's number there.
  std::optional<std::int64_t> bucketed_partition = std::nullopt;
  /// The columns that DuckDB partitions the table by now, also those of which clients
  /// see nothing.
  std::vector<FieldId> partition_columns = {};
  LakeSort sort = {};  ///< By which DuckDB sorts the table now.
  /// By mapping_id, of all data files that have one. The property
  /// "schema.name-mapping.default" shows them to Iceberg's readers.
  std::map<std::int64_t, LakeNameMap> name_maps;
  /// By mapping_id, the spec of files of which the values of columns stand in their
  /// paths alone, where such a spec can be.
  std::map<std::int64_t, std::int32_t> spec_of_mapping = {};
  /// The default spec that a client set, from a lake snapshot on.
  std::map<SnapshotId, std::int32_t> default_spec_at = {};
  /// The last lake snapshot that replaced files and changed no row (merge, flush, rewrite).
  std::optional<SnapshotId> last_maintenance = std::nullopt;
  /// Metadata files written so far: the sequence of the newest one, 0 for none.
  /// metadata.metadata_log lists the last 101 of them, oldest first.
  std::int64_t metadata_sequence = 0;
  /// Published snapshots, from our sidecar. The totals of the
  /// last one carry the summary forward without a look at older files.
  SnapshotList materialized;
  /// Lake snapshot that created the table.
  SnapshotId created;
  /// The lake snapshot that took main away, with all rows; the table has no
  /// current snapshot until a later one adds rows.
  std::optional<SnapshotId> cleared_at = std::nullopt;
  /// Lake snapshots after the last materialised one that changed rows.
  std::vector<SnapshotId> pending;
  /// Copies are being made that later snapshots need: the newest published one is shown.
  std::optional<CopyProgress> waits_for_copies = std::nullopt;
  /// Client-chosen snapshot ids and the lake's ids that stand for them.
  std::map<std::int64_t, SnapshotId> aliases;

  /// Whether the newest published snapshot names files that the lake has replaced.
  [[nodiscard]] bool replaced_since_published() const {
    return !materialized.empty() && last_maintenance > materialized.back().snapshot_id;
  }
};

}  // namespace lake::model
