#include "toolserver/connectors/sql/json_cells.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/core/text.h"
#include "base/crypto/encoding.h"
#include "toolserver/connectors/sql/number_text.h"
#include "toolserver/connectors/sql/temporal_text.h"

namespace tool::connectors {

using base::json::Array;
using base::json::Object;
using base::json::Value;

/// What a type needs to be known of, read once.
struct CellReader::Plan {
  duckdb_type id = DUCKDB_TYPE_INVALID;
  duckdb_type storage = DUCKDB_TYPE_INVALID;  // Of DECIMAL and ENUM.
  unsigned scale = 0;
  idx_t array_size = 0;
  bool unnamed = false;            // A STRUCT without field names.
  std::vector<std::string> names;  // Of fields, members, and of an ENUM its words.
  std::vector<Plan> children;
};

namespace {

using Plan = CellReader::Plan;

class LogicalType {
 public:
  explicit LogicalType(duckdb_logical_type handle) : handle_(handle) {}
  ~LogicalType() { duckdb_destroy_logical_type(&handle_); }
  LogicalType(const LogicalType&) = delete;
  LogicalType& operator=(const LogicalType&) = delete;
  [[nodiscard]] duckdb_logical_type get() const { return handle_; }

 private:
  duckdb_logical_type handle_;
};

std::string take(char* text) {
  std::string taken = text == nullptr ? "" : text;
  duckdb_free(text);
  return taken;
}

base::Result<Plan> plan_of(duckdb_logical_type type);

base::Status add_child(Plan& plan, duckdb_logical_type child) {
  LogicalType owned(child);
  ASSIGN_OR_RETURN(Plan made, plan_of(owned.get()));
  plan.children.push_back(std::move(made));
  return {};
}

base::Status add_members(Plan& plan, duckdb_logical_type type) {
  if (plan.id == DUCKDB_TYPE_STRUCT) {
    idx_t count = duckdb_struct_type_child_count(type);
    for (idx_t i = 0; i < count; ++i) {
      plan.names.push_back(take(duckdb_struct_type_child_name(type, i)));
      RETURN_IF_ERROR(add_child(plan, duckdb_struct_type_child_type(type, i)));
    }
    plan.unnamed = count > 0 && plan.names.front().empty();
    return {};
  }
  idx_t count = duckdb_union_type_member_count(type);
  for (idx_t i = 0; i < count; ++i) {
    plan.names.push_back(take(duckdb_union_type_member_name(type, i)));
    RETURN_IF_ERROR(add_child(plan, duckdb_union_type_member_type(type, i)));
  }
  return {};
}

base::Status add_parts(Plan& plan, duckdb_logical_type type) {
  switch (plan.id) {
    case DUCKDB_TYPE_DECIMAL:
      plan.scale = duckdb_decimal_scale(type);
      plan.storage = duckdb_decimal_internal_type(type);
      return {};
    case DUCKDB_TYPE_ENUM:
      plan.storage = duckdb_enum_internal_type(type);
      for (idx_t i = 0; i < duckdb_enum_dictionary_size(type); ++i) {
        plan.names.push_back(take(duckdb_enum_dictionary_value(type, i)));
      }
      return {};
    case DUCKDB_TYPE_LIST: return add_child(plan, duckdb_list_type_child_type(type));
    case DUCKDB_TYPE_ARRAY:
      plan.array_size = duckdb_array_type_array_size(type);
      return add_child(plan, duckdb_array_type_child_type(type));
    case DUCKDB_TYPE_MAP:
      RETURN_IF_ERROR(add_child(plan, duckdb_map_type_key_type(type)));
      return add_child(plan, duckdb_map_type_value_type(type));
    case DUCKDB_TYPE_STRUCT:
    case DUCKDB_TYPE_UNION: return add_members(plan, type);
    case DUCKDB_TYPE_INVALID:
    case DUCKDB_TYPE_ANY:
    case DUCKDB_TYPE_STRING_LITERAL:
    case DUCKDB_TYPE_INTEGER_LITERAL:
    case DUCKDB_TYPE_VARIANT:
      return base::fail(
          base::ErrorKind::kUnsupported,
          fmt::format("values of type {} cannot be shown; cast them to JSON", type_text(type)));
    default: return {};
  }
}

base::Result<Plan> plan_of(duckdb_logical_type type) {
  Plan plan;
  plan.id = duckdb_get_type_id(type);
  RETURN_IF_ERROR(add_parts(plan, type));
  return plan;
}

template <class T>
T at(duckdb_vector vector, idx_t row) {
  T value;
  std::memcpy(&value, static_cast<const char*>(duckdb_vector_get_data(vector)) + row * sizeof(T),
              sizeof(T));
  return value;
}

std::string_view bytes_at(duckdb_vector vector, idx_t row) {
  auto* text = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector)) + row;
  return {duckdb_string_t_data(text), duckdb_string_t_length(*text)};
}

template <class T>
Value exact_integer(T number) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 53) - 1;
  if (std::cmp_greater(number, kMost) || std::cmp_less(number, -kMost)) {
    return Value(fmt::format("{}", number));
  }
  return Value(static_cast<std::int64_t>(number));
}

// A FLOAT is given as the shortest decimal that reads back as the same FLOAT:
// 0.1, not 0.10000000149011612.
template <class T>
Value real(T number) {
  if (std::isnan(number)) return Value("NaN");
  if (std::isinf(number)) return Value(number > 0 ? "Infinity" : "-Infinity");
  if constexpr (std::is_same_v<T, float>) {
    std::string text = fmt::format("{}", number);
    double wide = 0;
    std::from_chars(text.data(), text.data() + text.size(), wide);
    return Value(wide);
  } else {
    return Value(number);
  }
}

Value decimal(const Plan& plan, duckdb_vector vector, idx_t row) {
  __int128 value = 0;
  switch (plan.storage) {
    case DUCKDB_TYPE_SMALLINT: value = at<std::int16_t>(vector, row); break;
    case DUCKDB_TYPE_INTEGER: value = at<std::int32_t>(vector, row); break;
    case DUCKDB_TYPE_BIGINT: value = at<std::int64_t>(vector, row); break;
    default: {
      auto wide = at<duckdb_hugeint>(vector, row);
      value =
          static_cast<__int128>((static_cast<unsigned __int128>(wide.upper) << 64) | wide.lower);
    }
  }
  return Value(decimal_text(value, plan.scale));
}

Value word(const Plan& plan, duckdb_vector vector, idx_t row) {
  std::size_t index = 0;
  switch (plan.storage) {
    case DUCKDB_TYPE_UTINYINT: index = at<std::uint8_t>(vector, row); break;
    case DUCKDB_TYPE_USMALLINT: index = at<std::uint16_t>(vector, row); break;
    default: index = at<std::uint32_t>(vector, row);
  }
  return Value(plan.names.at(index));
}

// The engine keeps UUIDs as numbers that sort like them, with the top bit
// turned over.
Value uuid(duckdb_vector vector, idx_t row) {
  auto number = at<duckdb_hugeint>(vector, row);
  std::uint64_t upper = static_cast<std::uint64_t>(number.upper) ^ (1ULL << 63);
  base::Uuid bytes{};
  for (unsigned i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(upper >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::uint8_t>(number.lower >> (56 - 8 * i));
  }
  return Value(base::to_string(bytes));
}

Value cell_of(const Plan& plan, duckdb_vector vector, idx_t row);

Value items(const Plan& item, duckdb_vector vector, idx_t first, idx_t count) {
  Array array;
  array.reserve(count);
  for (idx_t i = 0; i < count; ++i) array.push_back(cell_of(item, vector, first + i));
  return array;
}

Value structure(const Plan& plan, duckdb_vector vector, idx_t row) {
  Object object;
  Array array;
  for (idx_t i = 0; i < plan.children.size(); ++i) {
    Value value = cell_of(plan.children[i], duckdb_struct_vector_get_child(vector, i), row);
    if (plan.unnamed) {
      array.push_back(std::move(value));
    } else {
      object.insert_or_assign(plan.names[i], std::move(value));
    }
  }
  if (plan.unnamed) return array;
  return object;
}

Value map(const Plan& plan, duckdb_vector vector, idx_t row) {
  auto entry = at<duckdb_list_entry>(vector, row);
  duckdb_vector pairs = duckdb_list_vector_get_child(vector);
  duckdb_vector keys = duckdb_struct_vector_get_child(pairs, 0);
  duckdb_vector values = duckdb_struct_vector_get_child(pairs, 1);
  Array array;
  for (idx_t i = entry.offset; i < entry.offset + entry.length; ++i) {
    Object pair;
    pair["key"] = cell_of(plan.children[0], keys, i);
    pair["value"] = cell_of(plan.children[1], values, i);
    array.push_back(std::move(pair));
  }
  return array;
}

// A union is kept as a struct of a tag and one field for each member.
Value tagged(const Plan& plan, duckdb_vector vector, idx_t row) {
  auto tag = at<std::uint8_t>(duckdb_struct_vector_get_child(vector, 0), row);
  Object object;
  object["tag"] = plan.names.at(tag);
  object["value"] =
      cell_of(plan.children.at(tag), duckdb_struct_vector_get_child(vector, tag + idx_t{1}), row);
  return object;
}

Value temporal(const Plan& plan, duckdb_vector vector, idx_t row) {
  switch (plan.id) {
    case DUCKDB_TYPE_DATE: return Value(date_text(at<std::int32_t>(vector, row)));
    case DUCKDB_TYPE_TIME: return Value(time_text(at<std::int64_t>(vector, row), 1'000'000));
    case DUCKDB_TYPE_TIME_NS: return Value(time_text(at<std::int64_t>(vector, row), 1'000'000'000));
    case DUCKDB_TYPE_TIME_TZ: {
      duckdb_time_tz_struct time = duckdb_from_time_tz(at<duckdb_time_tz>(vector, row));
      duckdb_time micros = duckdb_to_time(time.time);
      return Value(time_tz_text(micros.micros, time.offset));
    }
    case DUCKDB_TYPE_TIMESTAMP:
      return Value(timestamp_text(at<std::int64_t>(vector, row), 1'000'000, Zone::kNone));
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      return Value(timestamp_text(at<std::int64_t>(vector, row), 1'000'000, Zone::kUtc));
    case DUCKDB_TYPE_TIMESTAMP_S:
      return Value(timestamp_text(at<std::int64_t>(vector, row), 1, Zone::kNone));
    case DUCKDB_TYPE_TIMESTAMP_MS:
      return Value(timestamp_text(at<std::int64_t>(vector, row), 1000, Zone::kNone));
    case DUCKDB_TYPE_TIMESTAMP_NS:
      return Value(timestamp_text(at<std::int64_t>(vector, row), 1'000'000'000, Zone::kNone));
    default: return Value(interval_text(at<duckdb_interval>(vector, row)));
  }
}

Value number(const Plan& plan, duckdb_vector vector, idx_t row) {
  switch (plan.id) {
    case DUCKDB_TYPE_BOOLEAN: return Value(at<std::uint8_t>(vector, row) != 0);
    case DUCKDB_TYPE_TINYINT: return Value(at<std::int8_t>(vector, row));
    case DUCKDB_TYPE_SMALLINT: return Value(at<std::int16_t>(vector, row));
    case DUCKDB_TYPE_INTEGER: return Value(at<std::int32_t>(vector, row));
    case DUCKDB_TYPE_BIGINT: return exact_integer(at<std::int64_t>(vector, row));
    case DUCKDB_TYPE_UTINYINT: return Value(std::int64_t{at<std::uint8_t>(vector, row)});
    case DUCKDB_TYPE_USMALLINT: return Value(std::int64_t{at<std::uint16_t>(vector, row)});
    case DUCKDB_TYPE_UINTEGER: return Value(std::int64_t{at<std::uint32_t>(vector, row)});
    case DUCKDB_TYPE_UBIGINT: return exact_integer(at<std::uint64_t>(vector, row));
    case DUCKDB_TYPE_HUGEINT: return Value(hugeint_text(at<duckdb_hugeint>(vector, row)));
    case DUCKDB_TYPE_UHUGEINT: return Value(uhugeint_text(at<duckdb_uhugeint>(vector, row)));
    case DUCKDB_TYPE_FLOAT: return real(at<float>(vector, row));
    case DUCKDB_TYPE_DOUBLE: return real(at<double>(vector, row));
    default: return decimal(plan, vector, row);
  }
}

Value cell_of(const Plan& plan, duckdb_vector vector, idx_t row) {
  if (plan.id == DUCKDB_TYPE_SQLNULL) return nullptr;
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  if (validity != nullptr && !duckdb_validity_row_is_valid(validity, row)) return nullptr;
  switch (plan.id) {
    case DUCKDB_TYPE_VARCHAR: return Value(bytes_at(vector, row));
    case DUCKDB_TYPE_BLOB:
    case DUCKDB_TYPE_GEOMETRY: return Value(base::crypto::to_base64(bytes_at(vector, row)));
    case DUCKDB_TYPE_BIT: return Value(bit_text(bytes_at(vector, row)));
    case DUCKDB_TYPE_BIGNUM: return Value(bignum_text(bytes_at(vector, row)));
    case DUCKDB_TYPE_ENUM: return word(plan, vector, row);
    case DUCKDB_TYPE_UUID: return uuid(vector, row);
    case DUCKDB_TYPE_LIST: {
      auto entry = at<duckdb_list_entry>(vector, row);
      return items(plan.children[0], duckdb_list_vector_get_child(vector), entry.offset,
                   entry.length);
    }
    case DUCKDB_TYPE_ARRAY:
      return items(plan.children[0], duckdb_array_vector_get_child(vector), row * plan.array_size,
                   plan.array_size);
    case DUCKDB_TYPE_STRUCT: return structure(plan, vector, row);
    case DUCKDB_TYPE_MAP: return map(plan, vector, row);
    case DUCKDB_TYPE_UNION: return tagged(plan, vector, row);
    case DUCKDB_TYPE_DATE:
    case DUCKDB_TYPE_TIME:
    case DUCKDB_TYPE_TIME_NS:
    case DUCKDB_TYPE_TIME_TZ:
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_TZ:
    case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS:
    case DUCKDB_TYPE_TIMESTAMP_NS:
    case DUCKDB_TYPE_INTERVAL: return temporal(plan, vector, row);
    default: return number(plan, vector, row);
  }
}

std::size_t size_of(const Plan& plan, duckdb_vector vector, idx_t row, std::size_t most);

std::size_t size_of_items(const Plan& item, duckdb_vector vector, idx_t first, idx_t count,
                          std::size_t most) {
  std::size_t size = count;
  for (idx_t i = 0; i < count && size <= most; ++i) size += size_of(item, vector, first + i, most);
  return size;
}

std::size_t size_of(const Plan& plan, duckdb_vector vector, idx_t row, std::size_t most) {
  if (plan.id == DUCKDB_TYPE_SQLNULL) return 4;
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  if (validity != nullptr && !duckdb_validity_row_is_valid(validity, row)) return 4;
  switch (plan.id) {
    case DUCKDB_TYPE_VARCHAR: return bytes_at(vector, row).size();
    case DUCKDB_TYPE_BLOB:
    case DUCKDB_TYPE_GEOMETRY: return bytes_at(vector, row).size() / 3 * 4;
    case DUCKDB_TYPE_BIT: return bytes_at(vector, row).size() * 8;
    case DUCKDB_TYPE_BIGNUM: return bytes_at(vector, row).size() * 2;
    case DUCKDB_TYPE_LIST: {
      auto entry = at<duckdb_list_entry>(vector, row);
      return size_of_items(plan.children[0], duckdb_list_vector_get_child(vector), entry.offset,
                           entry.length, most);
    }
    case DUCKDB_TYPE_ARRAY:
      return size_of_items(plan.children[0], duckdb_array_vector_get_child(vector),
                           row * plan.array_size, plan.array_size, most);
    case DUCKDB_TYPE_MAP: {
      auto entry = at<duckdb_list_entry>(vector, row);
      duckdb_vector pairs = duckdb_list_vector_get_child(vector);
      std::size_t size = 0;
      for (idx_t i = 0; i < 2; ++i) {
        size += size_of_items(plan.children[i], duckdb_struct_vector_get_child(pairs, i),
                              entry.offset, entry.length, most);
      }
      return size;
    }
    case DUCKDB_TYPE_STRUCT: {
      std::size_t size = 2;
      for (idx_t i = 0; i < plan.children.size() && size <= most; ++i) {
        size += size_of(plan.children[i], duckdb_struct_vector_get_child(vector, i), row, most);
      }
      return size;
    }
    case DUCKDB_TYPE_UNION: {
      auto tag = at<std::uint8_t>(duckdb_struct_vector_get_child(vector, 0), row);
      return size_of(plan.children.at(tag), duckdb_struct_vector_get_child(vector, tag + idx_t{1}),
                     row, most);
    }
    default: return 1;
  }
}

}  // namespace

CellReader::CellReader(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
CellReader::CellReader(CellReader&&) noexcept = default;
CellReader& CellReader::operator=(CellReader&&) noexcept = default;
CellReader::~CellReader() = default;

base::Result<CellReader> CellReader::of(duckdb_logical_type type) {
  ASSIGN_OR_RETURN(Plan plan, plan_of(type));
  return CellReader(std::make_unique<Plan>(std::move(plan)));
}

std::size_t CellReader::size(duckdb_vector vector, idx_t row, std::size_t most) const {
  return size_of(*plan_, vector, row, most);
}

Value CellReader::cell(duckdb_vector vector, idx_t row) const {
  return cell_of(*plan_, vector, row);
}

}  // namespace tool::connectors
