// Any bytes as the blob of a deletion vector and, so that a checksum does not end all, as its
// bitmap: no fault, no more positions than asked for, and what is read is written and read again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "base/puffin/deletion_vector.h"
#include "base/puffin/roaring.h"

namespace {

using namespace base::puffin;

// A few bytes may stand for many positions.
constexpr std::size_t kLimit = 1 << 18;

void check(const base::Result<std::vector<std::int64_t>>& positions) {
  if (!positions) return;
  if (positions->size() > kLimit || (!positions->empty() && positions->front() < 0)) std::abort();
  if (std::ranges::adjacent_find(*positions, std::ranges::greater_equal{}) != positions->end()) {
    std::abort();
  }
  auto again = read_deletion_vector(write_deletion_vector(*positions), kLimit);
  if (!again || *again != *positions) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(read_deletion_vector(bytes, kLimit));
  check(read_roaring64(bytes, kLimit));
  return 0;
}
