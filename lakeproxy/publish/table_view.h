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
  /// LoadTableResult, ready to send: with all snapshots, and with snapshots=refs.
  model::JsonText body;
  model::JsonText body_refs;
  std::vector<model::SnapshotFragment> fragments;
  std::string etag;  ///< Of this state, without quotes.
};
using TableViewPtr = std::shared_ptr<const TableView>;

struct MadeView {
  TableViewPtr view;
  std::string document;  ///< metadata.json, to be put at view->metadata_location.
};

/// Makes the view of a table whose snapshots are all published. Fragments of
/// `before` (may be null) are used again. `config` is the "config" member of
/// LoadTableResult, as JSON.
/// Errors: kUnsupported  a format version other than 2.
[[nodiscard]] base::Result<MadeView> make_view(model::LakeTable table, const TableViewPtr& before,
                                               std::string_view config);

/// LoadTableResult of a table that does not exist yet (staged creation).
[[nodiscard]] std::string staged_body(const model::TableMetadata& metadata,
                                      std::string_view config);

}  // namespace lake::publish
