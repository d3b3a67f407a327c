#pragma once

// Writes manifests of format version 3: each file with the id of its first row,
// and deletion vectors with their place in a Puffin file.
// Source: Iceberg table specification, "Manifests", "Row Lineage", "Deletion
// Vectors"; Appendix A, "Avro".

#include <span>
#include <string>

#include "base/avro/codec.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"

namespace lake::materialize {

/// As encode_manifest_v2() (manifest_v2.h), with the fields of version 3. A data
/// file without first_row_id takes one from the manifest list.
/// Errors: those of encode_manifest_v2() other than for deletion vectors;
///         kInvalid  a row id of a delete file or below zero, a Puffin file
///         without place or data file, a place in another file.
[[nodiscard]] base::Result<std::string> encode_manifest_v3(
    const model::ManifestHeader& header, std::span<const model::ManifestEntry> entries,
    base::avro::Codec codec, ManifestHeaders* kept = nullptr);

}  // namespace lake::materialize
