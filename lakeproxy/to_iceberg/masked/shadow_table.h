#pragma once

// A table as a masked principal sees it: Iceberg metadata of its own over the masked copies, in
// the folder of its signature. It has one snapshot, the newest, under the same id. What could tell
// a raw value is not in it: bounds, partitions, statistics, earlier schemas and snapshots,
// summaries of clients, defaults of masked columns. Pure: the same state gives the same bytes.
// Source: specification, sections 3.2, 5.9 and 8, "Masked exports are current-state only".

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/to_iceberg/masked/files_to_mask.h"
#include "lakeproxy/to_iceberg/publish/loaded_table.h"

namespace lake::masked {

/// What stands in the place of each file's name.
using MadeCopies = std::map<std::string, exporter::MaskedParts>;

struct ShadowTable {
  std::shared_ptr<publish::LoadedTable> loaded;
  std::vector<materialize::NewObject> objects;  ///< metadata.json the last.
};

/// The metadata without snapshots.
[[nodiscard]] model::TableMetadata shadow_metadata(const model::TableMetadata& metadata,
                                                   const policy::MaskPlan& plan);

/// `made` has all of `files`. `headers` may be null.
/// Errors: kInternal  `made` lacks one; those of the encoders.
[[nodiscard]] base::Result<ShadowTable> shadow_table(const publish::LoadedTable& base,
                                                     const policy::MaskPlan& plan,
                                                     const std::vector<FileToMask>& files,
                                                     const MadeCopies& made,
                                                     materialize::ManifestHeaders* headers);

}  // namespace lake::masked
