#pragma once

// The text of Avro schemas as Iceberg writes them: each field with its field
// id, optional ones as a union with null first.
// Source: Iceberg table specification, Appendix A, "Avro".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lake::materialize {

/// {"name", "type", "field-id"}. `type` is JSON text, with its quotes if it is
/// a name; `name` needs no escapes.
[[nodiscard]] std::string required_field(std::string_view name, std::string_view type,
                                         std::int32_t field_id);
/// Likewise; of type ["null", type], null by default.
[[nodiscard]] std::string optional_field(std::string_view name, std::string_view type,
                                         std::int32_t field_id);
[[nodiscard]] std::string record_type(std::string_view name,
                                      const std::vector<std::string>& fields);
[[nodiscard]] std::string list_type(std::string_view element, std::int32_t element_id);
/// A map from int: an array of records, for Avro's own maps have text keys.
[[nodiscard]] std::string int_map_type(std::int32_t key_id, std::string_view value,
                                       std::int32_t value_id);

inline constexpr std::string_view kAvroInt = R"("int")";
inline constexpr std::string_view kAvroLong = R"("long")";
inline constexpr std::string_view kAvroBytes = R"("bytes")";
inline constexpr std::string_view kAvroString = R"("string")";
inline constexpr std::string_view kAvroBoolean = R"("boolean")";

}  // namespace lake::materialize
