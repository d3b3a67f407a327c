#include "lakeproxy/iceberg/scan/task_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "base/json/json.h"
#include "lakeproxy/iceberg/schema/literal_json.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::scan {
namespace {

using model::Literal;
using model::TypeKind;

std::string_view content_of(model::FileContent content) {
  switch (content) {
    case model::FileContent::kData: return "data";
    case model::FileContent::kPositionDeletes: return "position-deletes";
    case model::FileContent::kEqualityDeletes: return "equality-deletes";
  }
  return "";
}

std::string_view format_of(model::FileFormat format) {
  switch (format) {
    case model::FileFormat::kParquet: return "parquet";
    case model::FileFormat::kAvro: return "avro";
    case model::FileFormat::kOrc: return "orc";
    case model::FileFormat::kPuffin: return "puffin";
  }
  return "";
}

// A type that has the value's form, where the column's own is not known or was promoted.
model::Type plain_type(const Literal& value) {
  if (std::holds_alternative<bool>(value)) return model::Type(TypeKind::kBoolean);
  if (std::holds_alternative<std::int32_t>(value)) return model::Type(TypeKind::kInt);
  if (std::holds_alternative<std::int64_t>(value)) return model::Type(TypeKind::kLong);
  if (std::holds_alternative<float>(value)) return model::Type(TypeKind::kFloat);
  if (std::holds_alternative<double>(value)) return model::Type(TypeKind::kDouble);
  if (std::holds_alternative<base::Uuid>(value)) return model::Type(TypeKind::kUuid);
  if (std::holds_alternative<model::Bytes>(value)) return model::Type(TypeKind::kBinary);
  return model::Type(TypeKind::kString);
}

void append_partition(std::string& out, const model::PartitionTuple& partition,
                      const std::vector<model::Type>& types) {
  out += '[';
  for (std::size_t i = 0; i < partition.size(); ++i) {
    if (i > 0) out += ',';
    const auto& value = partition[i];
    if (!value) {
      out += "null";
    } else if (i < types.size() && materialize::has_alternative_of(*value, types[i])) {
      base::json::append(out, model::to_json(*value, types[i]));
    } else {
      base::json::append(out, model::to_json(*value, plain_type(*value)));
    }
  }
  out += ']';
}

void append_hex(std::string& out, std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

// One of the maps from columns: its keys, then its values.
template <class Part>
void append_map(std::string& out, std::string_view name, const model::DataFile& file,
                const FileForm& form, const Part& part) {
  std::string keys;
  std::string values;
  for (const auto& [id, metrics] : file.metrics) {
    if (!form.stats->contains(id)) continue;
    const auto& value = part(metrics);
    if (!value) continue;
    if (!keys.empty()) {
      keys += ',';
      values += ',';
    }
    keys += std::to_string(id);
    if constexpr (std::is_same_v<std::decay_t<decltype(*value)>, std::string>) {
      values += '"';
      append_hex(values, *value);
      values += '"';
    } else {
      values += std::to_string(*value);
    }
  }
  out += fmt::format(R"(,"{}":{{"keys":[{}],"values":[{}]}})", name, keys, values);
}

void append_stats(std::string& out, const model::DataFile& file, const FileForm& form) {
  auto add = [&](std::string_view name, auto part) { append_map(out, name, file, form, part); };
  using Metrics = model::ColumnMetrics;
  add("column-sizes", [](const Metrics& of) -> const auto& { return of.column_size; });
  add("value-counts", [](const Metrics& of) -> const auto& { return of.value_count; });
  add("null-value-counts", [](const Metrics& of) -> const auto& { return of.null_count; });
  add("nan-value-counts", [](const Metrics& of) -> const auto& { return of.nan_count; });
  add("lower-bounds", [](const Metrics& of) -> const auto& { return of.lower_bound; });
  add("upper-bounds", [](const Metrics& of) -> const auto& { return of.upper_bound; });
}

template <class T>
void append_list(std::string& out, std::string_view name, const std::vector<T>& values) {
  if (values.empty()) return;
  out += fmt::format(R"(,"{}":[{}])", name, fmt::join(values, ","));
}

void append_number(std::string& out, std::string_view name, const auto& value) {
  if (value) fmt::format_to(std::back_inserter(out), R"(,"{}":{})", name, *value);
}

void append_delete_members(std::string& out, const model::DataFile& file) {
  append_list(out, "equality-ids", file.equality_ids);
  if (file.referenced_data_file) {
    out += R"(,"referenced-data-file":)";
    base::json::append_quoted(out, *file.referenced_data_file);
  }
  append_number(out, "content-offset", file.content_offset);
  append_number(out, "content-size-in-bytes", file.content_size_in_bytes);
}

}  // namespace

std::vector<model::Type> partition_types(const model::PartitionSpec& spec,
                                         const std::vector<model::Schema>& schemas) {
  std::vector<model::Type> types;
  for (const model::PartitionField& field : spec.fields) {
    model::Type type(TypeKind::kUnknown);
    for (const model::Schema& schema : schemas | std::views::reverse) {
      const model::Field* source = schema.find(field.source_id);
      if (source == nullptr) continue;
      type = model::result_type(field.transform, source->type);
      break;
    }
    types.push_back(std::move(type));
  }
  return types;
}

void append_file(std::string& out, const model::DataFile& file, const FileForm& form) {
  fmt::format_to(std::back_inserter(out), R"({{"spec-id":{},"content":"{}","file-path":)",
                 form.spec_id, content_of(file.content));
  base::json::append_quoted(out, file.file_path);
  fmt::format_to(std::back_inserter(out), R"(,"file-format":"{}","partition":)",
                 format_of(file.file_format));
  append_partition(out, file.partition, *form.partition_types);
  fmt::format_to(std::back_inserter(out), R"(,"file-size-in-bytes":{},"record-count":{})",
                 file.file_size_in_bytes, file.record_count);
  if (file.key_metadata) {
    out += R"(,"key-metadata":")";
    append_hex(out, *file.key_metadata);
    out += '"';
  }
  append_list(out, "split-offsets", file.split_offsets);
  append_number(out, "sort-order-id", file.sort_order_id);
  if (file.content == model::FileContent::kData) {
    if (form.row_ids == RowIds::kTold) append_number(out, "first-row-id", file.first_row_id);
    if (form.stats != nullptr && !form.stats->empty()) append_stats(out, file, form);
  } else {
    append_delete_members(out, file);
  }
  out += '}';
}

}  // namespace lake::scan
