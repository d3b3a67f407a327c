#include "lakeproxy/iceberg/manifest/avro_fields.h"

#include <fmt/format.h>

namespace lake::materialize {

std::string required_field(std::string_view name, std::string_view type, std::int32_t field_id) {
  return fmt::format(R"({{"name":"{}","type":{},"field-id":{}}})", name, type, field_id);
}

std::string optional_field(std::string_view name, std::string_view type, std::int32_t field_id) {
  return fmt::format(R"({{"name":"{}","type":["null",{}],"default":null,"field-id":{}}})", name,
                     type, field_id);
}

std::string record_type(std::string_view name, const std::vector<std::string>& fields) {
  return fmt::format(R"({{"type":"record","name":"{}","fields":[{}]}})", name,
                     fmt::join(fields, ","));
}

std::string list_type(std::string_view element, std::int32_t element_id) {
  return fmt::format(R"({{"type":"array","items":{},"element-id":{}}})", element, element_id);
}

std::string int_map_type(std::int32_t key_id, std::string_view value, std::int32_t value_id) {
  const std::string pair = record_type(
      fmt::format("k{}_v{}", key_id, value_id),
      {required_field("key", kAvroInt, key_id), required_field("value", value, value_id)});
  return fmt::format(R"({{"type":"array","items":{},"logicalType":"map"}})", pair);
}

}  // namespace lake::materialize
