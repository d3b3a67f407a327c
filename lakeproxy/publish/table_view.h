#pragma once

// A table as it is served: the lake's state, and the documents made from it,
// written once and sent as often as they are asked for.

#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/materialize/snapshot_builder.h"
#include "lakeproxy/model/lake_table.h"
#include "lakeproxy/model/table_metadata_json.h"

namespace lake::publish {

/// Never changed once made; shared by all workers.
struct TableView {
  model::LakeTable table;  ///< Nothing pending: all its snapshots are published.
  /// `table.metadata` with the snapshots, logs and "main".
  model::TableMetadata metadata;
  std::string metadata_location;
  std::int64_t metadata_sequence = 0;  ///< Place of that file in the metadata log.
  model::JsonText document;            ///< metadata.json, all snapshots.
  model::JsonText document_refs;       ///< The same with snapshots=refs.
  std::vector<model::SnapshotFragment> fragments;
  std::string etag;  ///< With its quotes.
};
using TableViewPtr = std::shared_ptr<const TableView>;

/// Makes the view of a table whose snapshots are all published. Fragments of
/// `before` (may be null) are used again.
/// Errors: kUnsupported  a format version other than 2.
[[nodiscard]] base::Result<TableViewPtr> make_view(model::LakeTable table,
                                                   const TableViewPtr& before);

/// The metadata of a table that does not exist yet (staged creation).
[[nodiscard]] std::string write_staged(const model::TableMetadata& metadata);

}  // namespace lake::publish
