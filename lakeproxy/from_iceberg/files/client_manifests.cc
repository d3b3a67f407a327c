#include "lakeproxy/from_iceberg/files/client_manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/runtime/gather.h"
#include "lakeproxy/from_iceberg/files/list_diff.h"
#include "lakeproxy/from_iceberg/files/manifest_budget.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {
namespace {

using base::ByteBudget;
using base::ErrorKind;
using base::Result;
using materialize::Manifest;
using model::ManifestFile;

// Manifests that are read at once.
constexpr base::AtOnce kReadsAtOnce{16};

// What writers' files unpack to, at most: a tenth is usual. More is believed, too,
// but not before there is room for the most that may come.
constexpr std::size_t kUsualUnpacking = 16;

// The bytes that files of so many stored ones may unpack to, one try after the other.
std::vector<std::size_t> allowances(std::size_t stored) {
  std::vector<std::size_t> tries;
  if (stored <= publish::kSmallStored) tries.push_back(publish::kSmallUnpacked);
  tries.push_back(std::clamp(stored * kUsualUnpacking, 16UL << 20, kMostUnpackedBytes));
  if (tries.back() < kMostUnpackedBytes) tries.push_back(kMostUnpackedBytes);
  return tries;
}

base::Error other_length(std::int64_t said) {
  return base::fail(ErrorKind::kInvalid,
                    fmt::format("has another manifest_length than its list says, {}", said));
}

// The budget for a list that is not small: stored, unpacked and its rows.
base::Task<Result<ByteBudget::Share>> take_for_list(base::RequestContext context,
                                                    Catalog* catalog) {
  co_return co_await catalog->manifests->decoder().budget().take(context, 4 * kMostListBytes);
}

// A small one is brought at once; for another one the budget is asked first.
base::Task<Result<std::string>> read_list_bytes(base::RequestContext context, Catalog* catalog,
                                                std::string location,
                                                std::optional<ByteBudget::Share>* share) {
  CO_ASSIGN_OR_RETURN(auto key, storage::key_in(catalog->store->bucket(), location));
  auto bytes = co_await catalog->store->get_range(context, key, 0, publish::kSmallStored);
  if (!bytes && bytes.error().kind() == ErrorKind::kInvalid) co_return std::string();  // No bytes.
  if (!bytes || bytes->size() < publish::kSmallStored) co_return bytes;
  CO_ASSIGN_OR_RETURN(*share, co_await take_for_list(context, catalog));
  auto rest = co_await catalog->store->get_range(context, std::move(key), bytes->size(),
                                                 kMostListBytes - bytes->size() + 1);
  if (!rest && rest.error().kind() != ErrorKind::kInvalid) co_return rest;
  if (rest) *bytes += *rest;
  if (bytes->size() > kMostListBytes) {
    co_return base::fail(ErrorKind::kTooLarge,
                         fmt::format("is longer than the {} bytes that are read", kMostListBytes));
  }
  co_return bytes;
}

base::Task<Result<std::vector<ManifestFile>>> read_list(base::RequestContext context,
                                                        Catalog* catalog, std::string location) {
  std::optional<ByteBudget::Share> share;
  CO_ASSIGN_OR_RETURN(auto bytes, co_await read_list_bytes(context, catalog, location, &share));
  publish::ManifestDecoder& decoder = catalog->manifests->decoder();
  materialize::ManifestLimits limits{.entries = kMostListRows};
  if (!share) {
    limits.avro.total_bytes = publish::kSmallUnpacked;
    auto list = co_await decoder.list(bytes, limits);
    if (list || list.error().kind() != ErrorKind::kTooLarge) co_return list;
    CO_ASSIGN_OR_RETURN(share, co_await take_for_list(context, catalog));
  }
  limits.avro.total_bytes = kMostListBytes;
  co_return co_await decoder.list(std::move(bytes), limits);
}

// No more of a manifest is read than its list says there is, and one byte to see
// that there is no more.
base::Task<Result<std::string>> read_listed(base::RequestContext context, Catalog* catalog,
                                            const ManifestFile* listed) {
  if (listed->manifest_length <= 0) co_return other_length(listed->manifest_length);
  CO_ASSIGN_OR_RETURN(auto key, storage::key_in(catalog->store->bucket(), listed->manifest_path));
  const auto length = static_cast<std::uint64_t>(listed->manifest_length);
  auto bytes = co_await catalog->store->get_range(context, std::move(key), 0, length + 1);
  if (!bytes && bytes.error().kind() == ErrorKind::kInvalid) {
    co_return other_length(listed->manifest_length);  // Nothing is there.
  }
  if (bytes && bytes->size() != length) co_return other_length(listed->manifest_length);
  co_return bytes;
}

base::Task<Result<Manifest>> read_one(base::RequestContext context, Catalog* catalog,
                                      const ManifestFile* listed, ManifestBudget* budget,
                                      AsFault as_fault) {
  auto bytes = co_await read_listed(context, catalog, listed);
  if (!bytes) co_return as_fault(std::move(bytes).error(), listed->manifest_path);
  auto manifest =
      co_await catalog->manifests->decoder().manifest(std::move(*bytes), budget->left());
  if (!manifest) co_return as_fault(std::move(manifest).error(), listed->manifest_path);
  CO_RETURN_IF_ERROR(budget->spend(*manifest));
  co_return manifest;
}

base::Task<Result<std::vector<Manifest>>> read_within(base::RequestContext context,
                                                      Catalog* catalog,
                                                      const std::vector<ManifestFile>* listed,
                                                      std::size_t unpacked, AsFault as_fault) {
  ManifestBudget budget(unpacked);
  auto read = [&](std::size_t i) {
    return read_one(context, catalog, &(*listed)[i], &budget, as_fault);
  };
  co_return co_await base::gather_few(kReadsAtOnce, listed->size(), read);
}

}  // namespace

base::Task<Result<std::vector<ManifestFile>>> read_client_list(base::RequestContext context,
                                                               Catalog* catalog,
                                                               std::string location,
                                                               AsFault as_fault) {
  auto list = co_await read_list(context, catalog, location);
  if (!list) co_return as_fault(std::move(list).error(), location);
  co_return list;
}

base::Task<Result<ClientManifests>> read_client_manifests(base::RequestContext context,
                                                          Catalog* catalog,
                                                          std::vector<ManifestFile> listed,
                                                          AsFault as_fault) {
  const std::size_t stored = stored_bytes(listed);
  if (stored > kMostStoredBytes) {
    co_return base::fail(
        ErrorKind::kTooLarge,
        fmt::format("its manifests are over {} bytes together; commit in parts", kMostStoredBytes));
  }
  for (const std::size_t unpacked : allowances(stored)) {
    ClientManifests read;
    if (unpacked > publish::kSmallUnpacked) {
      CO_ASSIGN_OR_RETURN(read.share, co_await catalog->manifests->decoder().budget().take(
                                          context, stored + unpacked));
    }
    auto manifests = co_await read_within(context, catalog, &listed, unpacked, as_fault);
    if (manifests) {
      read.manifests = std::move(*manifests);
      co_return read;
    }
    const bool is_over = manifests.error().kind() == ErrorKind::kTooLarge;
    if (!is_over || unpacked == kMostUnpackedBytes) co_return std::move(manifests).error();
  }
  co_return base::fail(ErrorKind::kInternal, "no allowance for a client's manifests");
}

}  // namespace lake::operation
