#pragma once

// Writes manifests of format version 2: one Avro record for each file.
// Source: Iceberg table specification, "Manifests"; Appendix A, "Avro".

#include <span>
#include <string>

#include "base/avro/codec.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"

namespace lake::materialize {

/// The bytes of a manifest that holds `entries`, in their order. The same
/// input gives the same bytes. All entries' files were written with
/// `header.spec` and have the content of the header: data, or either kind of
/// delete. `header.format_version` is not looked at.
/// Fields of version 3 have no place: first_row_id is left out. The container's
/// header is taken from `kept`, or left there.
/// Errors: kInvalid  a partition tuple that does not fit the spec, a spec that
///         does not fit the schema, content that does not fit the header, no
///         sequence numbers in an entry that is not new, or a deletion vector.
[[nodiscard]] base::Result<std::string> encode_manifest_v2(
    const model::ManifestHeader& header, std::span<const model::ManifestEntry> entries,
    base::avro::Codec codec, ManifestHeaders* kept = nullptr);

}  // namespace lake::materialize
