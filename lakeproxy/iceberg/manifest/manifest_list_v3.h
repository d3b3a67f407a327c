#pragma once

// Writes the manifest list of a snapshot of format version 3: each manifest of
// data with the id that its rows' ids begin at.
// Source: Iceberg table specification, "Manifest Lists", "Row Lineage";
// Appendix A, "Avro".

#include <span>
#include <string>

#include "base/avro/codec.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest_list_parts.h"

namespace lake::materialize {

/// The bytes of the list. The same input gives the same bytes.
/// Errors: as check_manifest(); kInvalid  a manifest of data without a first
///         row id (readers would then pass over those of its files), one of
///         deletes with it, or no first row id in `header`.
[[nodiscard]] base::Result<std::string> encode_manifest_list_v3(
    const ManifestListHeader& header, std::span<const model::ManifestFile> manifests,
    base::avro::Codec codec);

}  // namespace lake::materialize
