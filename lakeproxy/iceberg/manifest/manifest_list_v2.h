#pragma once

// Writes the manifest list of a snapshot of format version 2.
// Source: Iceberg table specification, "Manifest Lists"; Appendix A, "Avro".

#include <span>
#include <string>

#include "base/avro/codec.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest_list_parts.h"

namespace lake::materialize {

/// The bytes of the list. The same input gives the same bytes. first_row_id
/// (version 3) is left out.
/// Errors: as check_manifest().
[[nodiscard]] base::Result<std::string> encode_manifest_list_v2(
    const ManifestListHeader& header, std::span<const model::ManifestFile> manifests,
    base::avro::Codec codec);

}  // namespace lake::materialize
