#pragma once

// Makes the files that Iceberg clients need and the lake does not have: Parquet
// for rows and deletes that DuckDB keeps in PostgreSQL, position deletes with
// Iceberg's field ids, and Puffin files of deletion vectors. The embedded engine does the Parquet;
// it works on a scratch folder of its own and has no way to the network.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/masked/masked_copy.h"
#include "lakeproxy/derive/plan/export_plan.h"
#include "lakeproxy/engine/deletes/client_deletes.h"
#include "lakeproxy/engine/files/engine_pool.h"
#include "lakeproxy/engine/parquet/mapped_file.h"
#include "lakeproxy/engine/parquet/nan_count.h"
#include "lakeproxy/storage/store.h"

namespace base::duckdb {
class Engine;
}

namespace lake::exporter {

/// A Puffin file that was put, with the places of its vectors in their order.
struct PutVectors {
  std::string location;
  std::int64_t file_size_bytes = 0;
  std::vector<materialize::BlobPlace> blobs;
};

/// A masked copy of a data file that is to be made.
struct MaskedCopy {
  model::DataFile source;
  std::vector<model::DataFile> deletes;  ///< Position deletes and vectors that count for it.
  std::string location;
  std::shared_ptr<const MaskRules> rules;
  RowOrigin origin;  ///< Without `deleted`, which follows from `deletes`.
};
/// An object of a masked copy. A small copy is one object at its location; a larger one has
/// several, named by their content behind that.
struct MaskedPart {
  std::string location;
  std::int64_t record_count = 0;
  std::int64_t file_size_bytes = 0;
  friend bool operator==(const MaskedPart&, const MaskedPart&) = default;
};
using MaskedParts = std::vector<MaskedPart>;

/// The first rows of a data file, as a plan leaves them. What is pointed to outlives the task.
struct FirstRowsWanted {
  const MaskedCopy* file = nullptr;             ///< `location` does not count.
  const model::NameMapping* mapping = nullptr;  ///< The table's, for a file without field ids.
  FirstRowsBounds bounds;                       ///< `looked_at` follows from the budget.
  ByteBudget* budget = nullptr;                 ///< Of data files; delete files are read whole.
};

/// One event loop's exporter over the process's engine, for one kind of work. All referenced
/// objects outlive it.
class Exporter {
 public:
  Exporter(base::duckdb::Engine& engine, EnginePool& blocking, storage::ObjectStore& store);

  /// Makes every file of `plan` that is not there yet and tells what each
  /// holds, or where a deletion vector stands. `plan` outlives the task. Statistics of inlined rows
  /// are in the lake's text form, NaN counts included, for top-level columns. Errors: kUnavailable,
  /// kTimeout (the store); kCorrupt  a delete file that is
  ///         neither position deletes nor a deletion vector; kUnsupported  a
  ///         column type that the engine cannot write; kTooLarge  over the
  ///         engine's memory.
  [[nodiscard]] base::Task<base::Result<materialize::Exported>> make(
      base::RequestContext context, const materialize::ExportPlan* plan);

  /// When each row of a partial file began. Only the footer and one column are
  /// read. Nothing where the file does not say it.
  /// Errors: as make().
  [[nodiscard]] base::Task<base::Result<std::shared_ptr<const model::RowSnapshotIds>>>
  row_snapshot_ids(base::RequestContext context, const model::LakeDataFile* file);

  /// When each position of a delete file of the lake was deleted; null where a deletion
  /// vector does not say. Errors: as make().
  [[nodiscard]] base::Task<base::Result<std::shared_ptr<const model::RowEnds>>> row_ends(
      base::RequestContext context, const model::LakeDeleteFile* file);

  /// Exact NaN counts of float and double columns of a Parquet file, by field id.
  /// A column that the file does not hold is left out. Only the footer and the chunks of
  /// these columns are read, or nothing that does not fit into the budget. What `search`
  /// points to outlives the task.
  /// Errors: kTooLarge  over the budget or the engine's memory; otherwise as make().
  [[nodiscard]] base::Task<base::Result<std::map<model::FieldId, std::int64_t>>> count_nans(
      base::RequestContext context, NanSearch search);

  /// Whether Iceberg's readers find in a Parquet file that nobody wrote for the
  /// table what DuckDB finds there. Only the footer is read. `file` outlives the task.
  /// Errors: those of check_columns(); kCorrupt  missing, or not Parquet;
  ///         kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Status> check_mapped_file(base::RequestContext context,
                                                           const MappedFile* file);

  /// How the columns of a client's Parquet file are called, by what `mapping` says of
  /// them; nothing for a file with field ids. Only the footer is read. `prefix` is
  /// the catalog's own. What is pointed to outlives the task.
  /// Errors: kInvalid  it lies elsewhere, is missing or broken; those of
  ///         check_columns(); kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<std::optional<model::LakeNameMap>>> names_in_file(
      base::RequestContext context, storage::Location prefix, const model::DataFile* file,
      const model::NameMapping* mapping, const model::TableMetadata* table);

  /// What each of a client's position-delete files (Parquet) and deletion vectors
  /// deletes, in their order. `prefix` is the catalog's own. Whether the data files exist and
  /// have so many rows is not looked at.
  /// Errors: kInvalid  names the delete file: it lies elsewhere, does not exist
  ///         or breaks its format, names another data file than the manifest
  ///         does, holds another number of positions than its record_count
  ///         (deletion vectors), or is the second vector of a data file;
  ///         kUnsupported  Avro, ORC, encrypted; kTooLarge  over kMostPositions
  ///         in a delete file, kMostPositionsAtOnce, or the engine's memory;
  ///         kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<std::vector<PositionsByFile>>> read_positions(
      base::RequestContext context, storage::Location prefix,
      std::vector<model::DataFile> delete_files);

  /// The rows of the candidates that the equality-delete files delete. Of a
  /// candidate only the footer and the delete columns are brought here.
  /// Errors: kInvalid  names the delete file: it lies elsewhere, does not exist
  ///         or breaks its format, lacks a delete column, or has one that is
  ///         unknown, nested, in a list or map, or of floating point;
  ///         kCorrupt  names the data file: it does not exist, breaks its
  ///         format, or has another type than can become the column's;
  ///         kUnsupported  Avro, ORC, encrypted, a type that the engine does
  ///         not have, a data file without field ids and name mapping;
  ///         kTooLarge, kUnavailable, kTimeout  as read_positions().
  [[nodiscard]] base::Task<base::Result<PositionsByFile>> find_equal(base::RequestContext context,
                                                                     EqualitySearch search);

  /// The positions in a DuckLake delete file that `snapshot` sees.
  /// Errors: kCorrupt  missing, or neither position deletes nor a deletion
  ///         vector; kTooLarge, kUnavailable, kTimeout  as read_positions().
  [[nodiscard]] base::Task<base::Result<Positions>> lake_positions(base::RequestContext context,
                                                                   model::LakeDeleteFile file,
                                                                   model::SnapshotId snapshot);

  /// Puts a delete file with `positions` (ascending, each once, not none) of
  /// `data_file`, unless there is an object at `location`. DuckDB reads it as
  /// DuckLake's and Iceberg's readers as position deletes.
  /// Errors: kInvalid  `data_file` is not UTF-8; kCorrupt  `location` is not in
  ///         the bucket; kTooLarge, kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<PutDeletes>> put_delete_file(base::RequestContext context,
                                                                     std::string location,
                                                                     std::string data_file,
                                                                     Positions positions);

  /// Puts one Puffin file of `vectors`, as write_puffin() makes it: its location
  /// begins with `beginning`, the rest follows from its bytes.
  /// Errors: those of write_puffin(); kCorrupt  `beginning` is not in the bucket;
  ///         kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<PutVectors>> put_vectors(
      base::RequestContext context, std::string beginning,
      std::vector<materialize::DeletionVector> vectors);

  /// Puts a readable copy at its location, unless there is an object, and tells the size of the
  /// one that stands there. The file and its copy lie in the scratch folder meanwhile, the copy
  /// in memory while it is put. `record_count` is the file's. `copy` outlives the task.
  /// Errors: those of write_readable_copy(); kCorrupt  the file does not exist, or has another
  ///         size or number of rows; kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<std::int64_t>> copy_file(base::RequestContext context,
                                                                 const model::ReadableCopy* copy,
                                                                 std::int64_t record_count);

  /// Puts a masked copy, unless there are its objects; tells them in the order of their rows. A
  /// part is closed once it has more than `part_bytes`. The file and its copy lie in the scratch
  /// folder meanwhile, one part in memory while it is put. `copy` outlives the task.
  /// Errors: those of write_masked_copy(); kCorrupt  a file does not exist, or a delete file
  ///         breaks its format; kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Result<MaskedParts>> mask_file(base::RequestContext context,
                                                                const MaskedCopy* copy,
                                                                std::int64_t part_bytes);

  /// The first rows of a file: its first row groups, as many as the budget holds, are brought to
  /// the scratch folder. Errors: those of read_first_rows(); kTooLarge  not one row group fits;
  ///         kCorrupt  a file does not exist, or a delete file breaks its format; kUnavailable,
  ///         kTimeout.
  [[nodiscard]] base::Task<base::Result<FirstRows>> first_rows(base::RequestContext context,
                                                               FirstRowsWanted wanted);

 private:
  base::duckdb::Engine* engine_;
  EnginePool* blocking_;
  storage::ObjectStore* store_;
};

}  // namespace lake::exporter
