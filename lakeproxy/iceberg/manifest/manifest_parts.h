#pragma once

// What manifests of format versions 2 and 3 share. Each version's own file
// adds what it alone has, and writes the manifest.
// Source: Iceberg table specification, "Manifests"; Appendix A, "Avro".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/avro/container_writer.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/iceberg/manifest/partition_struct.h"

namespace lake::materialize {

/// The fields of a file that both versions have, in the order of put_data_file().
/// An entry is written by put_entry_head(), then field by field.
[[nodiscard]] std::vector<std::string> data_file_fields(
    const std::vector<PartitionColumn>& columns);
using FieldTypes = std::vector<std::string> (*)(const std::vector<PartitionColumn>&);
/// The container's header of a manifest whose files have `fields`: from `kept`
/// (may be null), or made.
[[nodiscard]] ManifestHeaders::Made manifest_container_header(
    const model::ManifestHeader& header, const std::vector<PartitionColumn>& columns,
    FieldTypes fields, std::int32_t format_version, base::avro::Codec codec, ManifestHeaders* kept);

/// Status, snapshot and sequence numbers.
void put_entry_head(base::avro::Encoder& out, const model::ManifestEntry& entry);
void put_data_file(base::avro::Encoder& out, const model::DataFile& file,
                   const std::vector<PartitionColumn>& columns);
void put_optional_long(base::avro::Encoder& out, const std::optional<std::int64_t>& value);

/// What holds for an entry in both versions.
/// Errors: kInvalid  a partition tuple that does not fit the columns, content
///         that does not fit the header, no sequence numbers in an entry that
///         is not new.
[[nodiscard]] base::Status check_entry(const model::ManifestHeader& header,
                                       const model::ManifestEntry& entry,
                                       const std::vector<PartitionColumn>& columns);
[[nodiscard]] base::Error invalid_file(const model::DataFile& file, std::string_view rule);

}  // namespace lake::materialize
