#pragma once

// What is asked of a client's delete file before a byte of it is read.

#include <cstdint>
#include <string>
#include <vector>

#include "lakeproxy/engine/files/transfer.h"
#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::exporter {

/// Of one call, and of all its delete files together on disk.
inline constexpr std::size_t kMostDeleteFiles = 100'000;
inline constexpr std::int64_t kMostDeleteBytes = 4LL << 30;

/// Errors: kTooLarge  over one of the bounds; kInvalid  a size that is none.
[[nodiscard]] base::Status check_sizes(const std::vector<model::DataFile>& files);

/// Errors: kInvalid  other content; kUnsupported  encrypted, or neither Parquet
///         nor, for position deletes, Puffin.
[[nodiscard]] base::Status check_delete_file(const model::DataFile& file,
                                             model::FileContent content);

/// The whole object, to `path`.
/// Errors: kCorrupt  it is not as long as `file` says; bring().
[[nodiscard]] base::Task<base::Status> bring_whole(Means means, base::RequestContext context,
                                                   storage::ObjectKey key, model::DataFile file,
                                                   std::string path);

}  // namespace lake::exporter
