#pragma once

// What a manifest says about itself in the metadata of its Avro file.
// Source: Iceberg table specification, "Manifests", table of metadata keys.

#include "base/avro/container_reader.h"
#include "base/core/result.h"
#include "lakeproxy/model/table/manifest.h"

namespace lake::materialize {

/// Keys that version 1 leaves out take their defaults: version 1, spec 0,
/// content "data".
/// Errors: kCorrupt  schema or spec missing or broken, a number that is none;
///         kUnsupported  format version over 3; kTooLarge  over a JSON limit.
[[nodiscard]] base::Result<model::ManifestHeader> read_manifest_header(
    const base::avro::ContainerReader& reader);

}  // namespace lake::materialize
