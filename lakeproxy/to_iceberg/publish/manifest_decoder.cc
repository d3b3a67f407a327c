#include "lakeproxy/to_iceberg/publish/manifest_decoder.h"

#include <algorithm>
#include <utility>

namespace lake::publish {
namespace {

using base::Result;
using materialize::ManifestLimits;

// Small files are tried here, as far as they unpack to little.
template <class T>
base::Task<Result<T>> decode(Result<T> (*read)(std::string_view, ManifestLimits,
                                               materialize::ManifestHeaders*),
                             std::string file, ManifestLimits limits,
                             materialize::ManifestHeaders* headers, base::BlockingPool* pool) {
  if (file.size() <= kSmallStored) {
    ManifestLimits small = limits;
    small.avro.total_bytes = std::min(limits.avro.total_bytes, kSmallUnpacked);
    auto value = read(file, small, headers);
    const bool is_over = !value && value.error().kind() == base::ErrorKind::kTooLarge;
    if (!is_over || limits.avro.total_bytes <= kSmallUnpacked) co_return value;
  }
  auto work = [read, file = std::move(file), limits, headers] {
    return read(file, limits, headers);
  };
  co_return co_await pool->run(std::move(work));
}

}  // namespace

base::Task<Result<std::vector<model::ManifestFile>>> ManifestDecoder::list(std::string file,
                                                                           ManifestLimits limits) {
  return decode(&materialize::read_manifest_list, std::move(file), limits, &headers_, &pool_);
}

base::Task<Result<materialize::Manifest>> ManifestDecoder::manifest(std::string file,
                                                                    ManifestLimits limits) {
  return decode(&materialize::read_manifest, std::move(file), limits, &headers_, &pool_);
}

}  // namespace lake::publish
