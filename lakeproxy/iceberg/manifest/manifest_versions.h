#pragma once

// Writes manifests and manifest lists, a source file for each format version. Version 2:
// one Avro record for each file. Version 3: each file with the id of its first row, deletion
// vectors with their place in a Puffin file, and in the list each manifest of data with the
// id that its rows' ids begin at. Which of them a table needs says format_version.h.
// Source: Iceberg table specification, "Manifests", "Manifest Lists", "Row Lineage",
// "Deletion Vectors"; Appendix A, "Avro".

#include <span>
#include <string>

#include "base/avro/codec.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/iceberg/manifest/manifest_list_parts.h"

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

/// As encode_manifest_v2(), with the fields of version 3. A data file without
/// first_row_id takes one from the manifest list.
/// Errors: those of encode_manifest_v2() other than for deletion vectors;
///         kInvalid  a row id of a delete file or below zero, a Puffin file
///         without place or data file, a place in another file.
[[nodiscard]] base::Result<std::string> encode_manifest_v3(
    const model::ManifestHeader& header, std::span<const model::ManifestEntry> entries,
    base::avro::Codec codec, ManifestHeaders* kept = nullptr);

/// The bytes of the list of a snapshot of version 2. The same input gives the same bytes.
/// first_row_id (version 3) is left out.
/// Errors: as check_manifest().
[[nodiscard]] base::Result<std::string> encode_manifest_list_v2(
    const ManifestListHeader& header, std::span<const model::ManifestFile> manifests,
    base::avro::Codec codec);

/// The same of version 3. The same input gives the same bytes.
/// Errors: as check_manifest(); kInvalid  a manifest of data without a first
///         row id (readers would then pass over those of its files), one of
///         deletes with it, or no first row id in `header`.
[[nodiscard]] base::Result<std::string> encode_manifest_list_v3(
    const ManifestListHeader& header, std::span<const model::ManifestFile> manifests,
    base::avro::Codec codec);

}  // namespace lake::materialize
