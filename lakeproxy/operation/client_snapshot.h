#pragma once

// A client commits a snapshot by naming a manifest list that it has written.
// This reads what is new in it: the manifests that the table did not have.
// Source: Iceberg REST description, "AddSnapshotUpdate".

#include <string>
#include <vector>

#include "lakeproxy/ducklake/lake_writer.h"
#include "lakeproxy/operation/catalog.h"

namespace lake::operation {

struct ClientSnapshot {
  ducklake::AddedSnapshot added;
  /// The client's list and new manifests, of no use once ours are written.
  std::vector<std::string> objects;
};

/// Reads `given` for the table that `metadata` describes; `current_list` is the
/// manifest list of its newest snapshot, or empty. Only places under the
/// table's own prefix are read.
/// Errors: kInvalid  a list or manifest that does not parse, is missing, lies
///         elsewhere, or names an unknown spec; kUnsupported  a snapshot that
///         does more than append.
[[nodiscard]] base::Task<base::Result<ClientSnapshot>> read_client_snapshot(
    base::RequestContext context, Catalog* catalog, const model::TableMetadata* metadata,
    std::string current_list, model::Snapshot given);

}  // namespace lake::operation
