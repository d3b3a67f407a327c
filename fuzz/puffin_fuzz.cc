// Any bytes as a delete file of DuckLake's and, so that a checksum does not end
// all, as the bitmap of a deletion vector: no fault, and what is read is a set of
// positions that is written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "lakeproxy/iceberg/puffin/deletion_vector.h"
#include "lakeproxy/iceberg/puffin/puffin_writer.h"
#include "lakeproxy/iceberg/puffin/roaring.h"

namespace {

using namespace lake::materialize;

// A few bytes may stand for many positions.
constexpr std::size_t kLimit = 1 << 18;

void check(const base::Result<std::vector<std::int64_t>>& positions) {
  if (!positions || positions->empty()) return;
  if (positions->size() > kLimit) std::abort();
  auto file = write_puffin({{"s3://b/f", *positions}});
  if (!file || file->blobs.size() != 1) std::abort();
  auto again = read_deletion_vectors(file->bytes, kLimit);
  if (!again || *again != *positions) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(read_deletion_vectors(bytes, kLimit));
  check(read_roaring64(bytes, kLimit));
  return 0;
}
