#pragma once

// What a build reads, keeps and writes: the manifests of a list, and objects
// that are not stored yet.

#include <memory>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::materialize {

using Entries = std::shared_ptr<const std::vector<model::ManifestEntry>>;

/// A manifest of the list, with its entries once they have been read.
struct ListedManifest {
  model::ManifestFile manifest;
  Entries entries;
};

struct NewObject {
  std::string location;
  std::string bytes;
  std::string sha256;  ///< Of `bytes`, in hexadecimal.
};

}  // namespace lake::materialize
