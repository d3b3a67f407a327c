#pragma once

// The end of a Puffin file, which says where its blobs stand and what they are.
// Source: Iceberg Puffin specification, "File structure", "Footer payload".

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/puffin/puffin_writer.h"

namespace lake::materialize {

struct FooterLimits {
  std::size_t bytes = 1 << 20;
  std::size_t blobs = 10'000;
};

/// What the footer of a whole file says of each blob.
/// Errors: kCorrupt  no footer, or over the limits; kUnsupported  compressed.
[[nodiscard]] base::Result<base::json::Array> read_puffin_footer(std::string_view bytes,
                                                                 FooterLimits limits = {});

/// Where a blob that the footer describes stands; nothing where it says no place
/// inside a file of `size` bytes.
[[nodiscard]] std::optional<BlobPlace> place_of_blob(const base::json::Object& blob,
                                                     std::size_t size);

/// A deletion vector of a Puffin file, and the data file that it is of.
struct PlacedVector {
  std::string data_file;
  BlobPlace place;
};

/// The deletion vectors of a file that we wrote: as many as write_puffin() put
/// into it. Errors: as read_puffin_footer().
[[nodiscard]] base::Result<std::vector<PlacedVector>> read_placed_vectors(std::string_view bytes);

}  // namespace lake::materialize
