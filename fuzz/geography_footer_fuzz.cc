// Any bytes as the footer of a Parquet file: no fault. A footer in which nothing is to be said
// stays as it is, and one that says geography says the same when it is asked again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lakeproxy/engine/parquet/geography_footer.h"

namespace {

using namespace lake;

exporter::Geographies low_ids() {
  exporter::Geographies columns;
  for (model::FieldId id = 0; id < 8; ++id) {
    columns.emplace(
        id, model::Type::geo(model::TypeKind::kGeography, id % 2 == 0 ? "srid:4326, karney" : ""));
  }
  return columns;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view footer(reinterpret_cast<const char*>(data), size);
  auto same = exporter::geography_footer(footer, {});
  if (same && *same != footer) std::abort();
  static const exporter::Geographies columns = low_ids();
  auto made = exporter::geography_footer(footer, columns);
  if (!made) return 0;
  if (!same) std::abort();
  auto again = exporter::geography_footer(*made, columns);
  if (!again || *again != *made) std::abort();
  return 0;
}
