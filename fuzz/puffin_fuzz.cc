// Any bytes as a delete file of DuckLake's: no fault, and what is read is a set of positions that
// is written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "lakeproxy/iceberg/puffin/deletion_vector.h"
#include "lakeproxy/iceberg/puffin/puffin_writer.h"

namespace {

using namespace lake::materialize;

// A few bytes may stand for many positions.
constexpr std::size_t kLimit = 1 << 18;

base::Result<std::vector<std::int64_t>> positions_in(std::string_view file) {
  auto read = read_deletion_vectors(file, kLimit);
  if (!read) return std::move(read).error();
  std::vector<std::int64_t> positions;
  for (const VectorPosition& one : *read) positions.push_back(one.position);
  return positions;
}

void check(const base::Result<std::vector<std::int64_t>>& positions) {
  if (!positions || positions->empty()) return;
  if (positions->size() > kLimit) std::abort();
  auto file = write_puffin({{"s3://b/f", *positions}});
  if (!file || file->blobs.size() != 1) std::abort();
  auto again = positions_in(file->bytes);
  if (!again || *again != *positions) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(positions_in({reinterpret_cast<const char*>(data), size}));
  return 0;
}
