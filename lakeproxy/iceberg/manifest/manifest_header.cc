#include "lakeproxy/iceberg/manifest/manifest_header.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/core/text.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::Result;
using base::avro::ContainerReader;
using model::FileContent;

constexpr std::int32_t kMaxFormatVersion = 3;

base::Error corrupt(std::string message) {
  return base::fail(ErrorKind::kCorrupt, "manifest: " + std::move(message));
}

// What the model refuses in a stored header is a fault of the file.
base::Error header_error(base::Error error) {
  if (error.kind() == ErrorKind::kTooLarge) return error;
  return corrupt("header: " + error.message());
}

Result<const std::string*> required_metadata(const ContainerReader& reader, std::string_view key) {
  const std::string* text = reader.metadata(key);
  if (text == nullptr) return corrupt(fmt::format("the header has no \"{}\"", key));
  return text;
}

Result<std::int32_t> int_metadata(const ContainerReader& reader, std::string_view key,
                                  std::int32_t absent) {
  const std::string* text = reader.metadata(key);
  if (text == nullptr) return absent;
  const auto value = base::parse_int64(*text);
  if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max()) {
    return corrupt(fmt::format("the header's \"{}\" is not a number", key));
  }
  return static_cast<std::int32_t>(*value);
}

Result<model::Schema> read_schema(const ContainerReader& reader) {
  ASSIGN_OR_RETURN(const std::string* text, required_metadata(reader, "schema"));
  auto json = base::json::parse(*text);
  if (!json) return header_error(std::move(json).error());
  auto fields = base::json::Fields::of(*json, "schema");
  if (!fields) return header_error(std::move(fields).error());
  auto schema = model::schema_from_json(*fields);
  if (!schema) return header_error(std::move(schema).error());
  return std::move(*schema);
}

Result<model::PartitionSpec> read_spec(const ContainerReader& reader) {
  ASSIGN_OR_RETURN(const std::string* text, required_metadata(reader, "partition-spec"));
  auto json = base::json::parse(*text);
  if (!json) return header_error(std::move(json).error());
  // The format stores the array of fields; some writers store the whole spec.
  const base::json::Value* array = &*json;
  if (json->is_object()) array = json->get_object().if_contains("fields");
  if (array == nullptr) return corrupt("the header's partition spec has no fields");
  auto fields = model::partition_fields_from_json(*array, "partition-spec");
  if (!fields) return header_error(std::move(fields).error());
  ASSIGN_OR_RETURN(const std::int32_t spec_id, int_metadata(reader, "partition-spec-id", 0));
  return model::PartitionSpec{.spec_id = spec_id, .fields = std::move(*fields)};
}

std::size_t hash_of(const model::ManifestHeader& header, std::int32_t format_version,
                    base::avro::Codec codec) {
  std::size_t hash = 0;
  auto add = [&hash](std::size_t part) { hash = (hash ^ part) * 0x9E3779B97F4A7C15; };
  add(static_cast<std::size_t>(format_version));
  add(static_cast<std::size_t>(codec));
  add(static_cast<std::size_t>(header.content));
  add(static_cast<std::size_t>(header.schema.schema_id));
  add(static_cast<std::size_t>(header.spec.spec_id));
  for (const model::Field& field : header.schema.fields) {
    add(static_cast<std::size_t>(field.id));
    add(std::hash<std::string_view>{}(field.name));
  }
  return hash;
}

// All that read_manifest_header() looks at, each part with its length.
std::string header_text(const ContainerReader& reader) {
  constexpr std::string_view kRead[] = {
      "format-version", "schema", "schema-id", "partition-spec", "partition-spec-id", "content"};
  std::string text;
  for (std::string_view key : kRead) {
    const std::string* value = reader.metadata(key);
    text += value == nullptr ? "-" : fmt::format("{}:{}", value->size(), *value);
  }
  return text;
}

}  // namespace

ManifestHeaders::Made ManifestHeaders::written(
    const model::ManifestHeader& header, std::int32_t format_version, base::avro::Codec codec,
    const std::function<base::avro::ContainerHeader()>& make) {
  const std::size_t hash = hash_of(header, format_version, codec);
  {
    std::lock_guard lock(mutex_);
    auto [begin, end] = written_.equal_range(hash);
    for (auto held = begin; held != end; ++held) {
      const Written& written = held->second;
      if (written.format_version == format_version && written.header->codec == codec &&
          written.of.content == header.content && written.of.spec == header.spec &&
          written.of.schema == header.schema) {
        return written.header;
      }
    }
  }
  auto made = std::make_shared<const base::avro::ContainerHeader>(make());
  if (made->bytes.size() <= bytes_) {
    std::lock_guard lock(mutex_);
    if (written_.size() >= most_) written_.clear();
    if (most_ > 0) written_.emplace(hash, Written{header, format_version, made});
  }
  return made;
}

Result<ManifestHeaders::Parsed> ManifestHeaders::read(const ContainerReader& reader) {
  std::string text = header_text(reader);
  {
    std::lock_guard lock(mutex_);
    auto held = parsed_.find(text);
    if (held != parsed_.end()) return held->second;
    ++parses_;
  }
  ASSIGN_OR_RETURN(auto header, read_manifest_header(reader));
  auto parsed = std::make_shared<const model::ManifestHeader>(std::move(header));
  if (most_ > 0 && text.size() <= bytes_) {
    std::lock_guard lock(mutex_);
    if (parsed_.size() >= most_) parsed_.clear();
    parsed_.emplace(std::move(text), parsed);
  }
  return parsed;
}

Result<model::ManifestHeader> read_manifest_header(const ContainerReader& reader) {
  model::ManifestHeader header;
  ASSIGN_OR_RETURN(header.format_version, int_metadata(reader, "format-version", 1));
  if (header.format_version < 1 || header.format_version > kMaxFormatVersion) {
    return base::fail(ErrorKind::kUnsupported,
                      fmt::format("manifest: format version {}", header.format_version));
  }
  ASSIGN_OR_RETURN(header.schema, read_schema(reader));
  ASSIGN_OR_RETURN(header.schema.schema_id,
                   int_metadata(reader, "schema-id", header.schema.schema_id));
  ASSIGN_OR_RETURN(header.spec, read_spec(reader));
  const std::string* content = reader.metadata("content");
  if (content != nullptr && *content == "deletes") {
    header.content = FileContent::kPositionDeletes;
  } else if (content != nullptr && *content != "data") {
    return corrupt("the header's content is neither data nor deletes");
  }
  return header;
}

}  // namespace lake::materialize
