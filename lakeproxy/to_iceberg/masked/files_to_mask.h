#pragma once

// Which copies a masked principal needs of a table: one for each data file of the newest published
// snapshot, with the deletes that count for it. What makes published files differ from the
// lake's rows was done when they were published, and is not done again (ADR 0110).

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/iceberg/manifest/listed_manifest.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"
#include "lakeproxy/policy/read_plan.h"

namespace lake::masked {

/// Where all lies that principals with this signature get of a table, without '/' at the end. It is
/// in the server's own folder, which no client writes.
[[nodiscard]] std::string masked_folder(std::string_view table_location,
                                        std::string_view signature);

struct FileToMask {
  /// Of the copy: a hash of the file, its deletes, and the ids and types of the columns.
  std::string name;
  exporter::MaskedCopy copy;
  model::SnapshotId snapshot_id;  ///< That has added the file.
  std::int64_t sequence_number = 0;
  std::int64_t file_sequence_number = 0;
};

/// What the plan does to each file of a table with these columns.
/// Errors: kUnsupported  a mask is of a part of a column; kUnavailable  of one that the table
///         has no more, or calls otherwise: the plan is of another state.
[[nodiscard]] base::Result<std::shared_ptr<const exporter::MaskRules>> rules_of(
    const model::Schema& schema, const policy::MaskPlan& plan);

/// The data files of `list`, a snapshot's, in its order. `metadata` is the table's.
/// Errors: those of rules_of(); kUnsupported  a file that is not Parquet, or a delete that is not
///         by position; kCorrupt  a manifest's partition spec is not the table's.
[[nodiscard]] base::Result<std::vector<FileToMask>> files_to_mask(
    const model::TableMetadata& metadata, const std::vector<materialize::ListedManifest>& list,
    const policy::MaskPlan& plan);

}  // namespace lake::masked
