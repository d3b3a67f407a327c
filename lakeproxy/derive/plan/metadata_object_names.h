#pragma once

// Names of the objects that publication puts beside a table's data, in a folder of their own
// (model::server_folder()). They follow from what is published (ADR 0010). A client that names
// one of them in its commit does not own it.

#include <cstdint>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/metadata/snapshot.h"

namespace lake::materialize {

/// What the names of one snapshot of one table have in common.
struct MetadataObjectPlace {
  std::string_view table_location;
  model::SnapshotId snapshot;
};

/// `part` sets the manifests of one snapshot apart; `hash` is content_hash().
[[nodiscard]] std::string manifest_location(const MetadataObjectPlace& place, std::size_t part,
                                            std::string_view hash);
[[nodiscard]] std::string list_location(const MetadataObjectPlace& place, std::string_view hash);

/// Whether `location` is that of a list, a manifest or an exported file that is published for
/// the table: all that lies in the server's folder.
[[nodiscard]] bool is_published_object(std::string_view location, std::string_view table_location);

}  // namespace lake::materialize
