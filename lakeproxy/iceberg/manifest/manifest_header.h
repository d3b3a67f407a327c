#pragma once

// The header of a manifest: the Avro schema, the table's schema and its
// partition spec as JSON. A table's manifests all carry the same one, from the
// same writer, and it is longer than the entries of a small manifest. So what
// was made or parsed lately is kept.
// Source: Iceberg table specification, "Manifests", table of metadata keys.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/avro/container_reader.h"
#include "base/avro/container_writer.h"
#include "base/avro/schema_cache.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::materialize {

/// Headers of manifests that were written or read. Manifests come from
/// strangers: what is kept is bounded in count and bytes, and who sends many
/// headers makes it begin anew, no more. Safe from any thread.
class ManifestHeaders {
 public:
  using Made = std::shared_ptr<const base::avro::ContainerHeader>;
  using Parsed = std::shared_ptr<const model::ManifestHeader>;

  /// Keeps up to `headers` of either kind, of up to `bytes` each.
  explicit ManifestHeaders(std::size_t headers = 256, std::size_t bytes = 64 * 1024)
      : most_(headers), bytes_(bytes) {}

  /// The container's header for manifests of `header`, in `format_version` (which
  /// stands for the member of that name) and with `codec`: kept, or from `make`.
  [[nodiscard]] Made written(const model::ManifestHeader& header, std::int32_t format_version,
                             base::avro::Codec codec,
                             const std::function<base::avro::ContainerHeader()>& make);
  /// The header of an open container: kept, or parsed.
  /// Errors: those of read_manifest_header(), which are not kept.
  [[nodiscard]] base::Result<Parsed> read(const base::avro::ContainerReader& reader);

  /// How many headers had to be parsed so far, for want of a kept one.
  [[nodiscard]] std::size_t parses() const {
    std::lock_guard lock(mutex_);
    return parses_;
  }

  /// The Avro schemas of manifests and of manifest lists.
  [[nodiscard]] base::avro::SchemaCache& schemas() { return schemas_; }

 private:
  struct Written {
    model::ManifestHeader of;
    std::int32_t format_version;
    Made header;
  };

  const std::size_t most_;
  const std::size_t bytes_;
  base::avro::SchemaCache schemas_;
  mutable std::mutex mutex_;
  std::unordered_multimap<std::size_t, Written> written_;  // Guarded by mutex_.
  std::map<std::string, Parsed> parsed_;                   // Guarded by mutex_.
  std::size_t parses_ = 0;                                 // Guarded by mutex_.
};

/// Keys that version 1 leaves out take their defaults: version 1, spec 0,
/// content "data".
/// Errors: kCorrupt  schema or spec missing or broken, a number that is none;
///         kUnsupported  format version over 3; kTooLarge  over a JSON limit.
[[nodiscard]] base::Result<model::ManifestHeader> read_manifest_header(
    const base::avro::ContainerReader& reader);

}  // namespace lake::materialize
