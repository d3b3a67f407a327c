#pragma once

// Reads the manifest list and the manifests that a client names, in a commit or
// in a table to register. Nobody knows what is in them before: a few bytes may
// unpack to very many. What they take is bounded for each request, and over all
// requests of the process by the decoder's budget.

#include <cstddef>
#include <string>
#include <vector>

#include "base/runtime/byte_budget.h"
#include "lakeproxy/iceberg/manifest/manifest_reader.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// Of a list, as it is stored and as it is unpacked: some 80,000 manifests. A
/// table that large has manifests of megabytes each, so 500 TB of data files.
inline constexpr std::size_t kMostListBytes = 16 << 20;
inline constexpr std::size_t kMostListRows = 100'000;

/// Makes the error that the client gets of what is wrong with `location`.
using AsFault = base::Error (*)(base::Error error, const std::string& location);

/// Errors, those of the file itself through `as_fault`: kNotFound  missing;
///         kCorrupt, kUnsupported  as read_manifest_list(); kTooLarge  over
///         kMostListBytes or kMostListRows; kForbidden, kInvalid  not in the bucket; kRateLimited
///         other requests kept the budget; kUnavailable, kTimeout.
[[nodiscard]] base::Task<base::Result<std::vector<model::ManifestFile>>> read_client_list(
    base::RequestContext context, Catalog* catalog, std::string location, AsFault as_fault);

struct ClientManifests {
  std::vector<materialize::Manifest> manifests;  ///< In the order of their list.
  base::ByteBudget::Share share;                 ///< For as long as they are held.
};

/// Each is as long as `listed` says. The caller has no share of the budget.
/// Errors, those of a file itself through `as_fault`: kNotFound, kCorrupt,
///         kUnsupported  as above; kInvalid  of another manifest_length; kTooLarge
///         over the bounds of manifest_budget.h together; kForbidden,
///         kRateLimited, kUnavailable, kTimeout  as above.
[[nodiscard]] base::Task<base::Result<ClientManifests>> read_client_manifests(
    base::RequestContext context, Catalog* catalog, std::vector<model::ManifestFile> listed,
    AsFault as_fault);

}  // namespace lake::operation
