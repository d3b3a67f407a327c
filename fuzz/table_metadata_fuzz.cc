// Any JSON as the metadata of a table or of a view that another catalog wrote: what is taken is
// written as it will be read again, and points nowhere but into itself.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/iceberg/view/view_json.h"

namespace {

using namespace lake::model;  // NOLINT: this file is about nothing else.
namespace json = base::json;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_table(const json::Value& value) {
  const auto table = table_metadata_from_json(value);
  if (!table) return;
  require(table->find_schema(table->current_schema_id) != nullptr);
  require(table->find_spec(table->default_spec_id) != nullptr);
  require(table->find_sort_order(table->default_sort_order_id) != nullptr);
  for (const auto& [name, ref] : table->refs) {
    require(table->find_snapshot(ref.snapshot_id) != nullptr);
  }
  const std::string written = write_metadata(*table);
  const auto text = json::parse(written);
  require(text.has_value());
  const auto again = table_metadata_from_json(*text);
  require(again && write_metadata(*again) == written);
}

void check_view(const json::Value& value) {
  const auto view = view_metadata_from_json(value);
  if (!view) return;
  require(!view->current_version().representations.empty());
  (void)view->current_schema();
  const json::Value written = to_json(*view);
  const auto again = view_metadata_from_json(written);
  require(again && to_json(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_name_mapping(text);
  const auto value = json::parse(text, {.bytes = 1 << 16, .depth = 64, .values = 20'000});
  if (!value) return 0;
  check_table(*value);
  check_view(*value);
  return 0;
}
