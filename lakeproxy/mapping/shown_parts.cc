#include "lakeproxy/mapping/shown_parts.h"

#include "base/core/text.h"
#include "base/json/fields.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::Result;
using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;
using model::OutOfSight;
using model::SnapshotId;

constexpr const char* kSnapshot = "snapshot-id";

base::Error malformed(const char* member) {
  return base::fail(ErrorKind::kInvalid,
                    std::string("lakeproxy_table.out_of_sight.") + member + ": malformed");
}

base::Status read_specs(const Fields& json, OutOfSight& hidden) {
  const Value* specs = json.find("specs");
  if (specs == nullptr) return {};
  if (!specs->is_object()) return malformed("specs");
  for (const auto& [key, value] : specs->as_object()) {
    auto id = base::parse_int64(key);
    if (!id || !value.is_int64()) return malformed("specs");
    hidden.specs.emplace(static_cast<std::int32_t>(*id), value.as_int64());
  }
  return {};
}

base::Status read_snapshots(const Fields& json, OutOfSight& hidden) {
  ASSIGN_OR_RETURN(const Array* ranges, json.opt_array("snapshots"));
  if (ranges == nullptr) return {};
  for (const Value& range : *ranges) {
    const Array* ends = range.if_array();
    if (ends == nullptr || ends->size() != 2 || !(*ends)[0].is_int64() || !(*ends)[1].is_int64()) {
      return malformed("snapshots");
    }
    hidden.snapshots.push_back(
        {SnapshotId((*ends)[0].as_int64()), SnapshotId((*ends)[1].as_int64())});
  }
  return {};
}

// Of an object that has a "snapshot-id".
void resolve(const std::map<std::int64_t, SnapshotId>& aliases, Value& value) {
  Object* object = value.if_object();
  Value* id = object == nullptr ? nullptr : object->if_contains(kSnapshot);
  if (id == nullptr || !id->is_int64()) return;
  auto alias = aliases.find(id->as_int64());
  if (alias != aliases.end()) *id = alias->second.value;
}

void resolve_file(const std::map<std::int64_t, SnapshotId>& aliases, Value& file) {
  resolve(aliases, file);
  Object* object = file.if_object();
  Value* blobs = object == nullptr ? nullptr : object->if_contains("blob-metadata");
  if (blobs == nullptr || !blobs->is_array()) return;
  for (Value& blob : blobs->as_array()) resolve(aliases, blob);
}

}  // namespace

std::string out_of_sight_json(const OutOfSight& hidden) {
  Object json;
  if (!hidden.schemas.empty())
    json["schemas"] = Array(hidden.schemas.begin(), hidden.schemas.end());
  if (!hidden.specs.empty()) {
    Object specs;
    for (const auto& [id, revision] : hidden.specs) specs[std::to_string(id)] = revision;
    json["specs"] = std::move(specs);
  }
  if (!hidden.snapshots.empty()) {
    Array ranges;
    for (const auto& range : hidden.snapshots) {
      ranges.push_back(Array{range.first.value, range.last.value});
    }
    json["snapshots"] = std::move(ranges);
  }
  return base::json::write(json);
}

Result<OutOfSight> read_out_of_sight(std::string_view text) {
  ASSIGN_OR_RETURN(const auto value, base::json::parse(text));
  ASSIGN_OR_RETURN(auto json, Fields::of(value, "lakeproxy_table.out_of_sight"));
  OutOfSight hidden;
  if (json.has("schemas")) {
    ASSIGN_OR_RETURN(auto ids, json.int32s("schemas"));
    hidden.schemas.insert(ids.begin(), ids.end());
  }
  RETURN_IF_ERROR(read_specs(json, hidden));
  RETURN_IF_ERROR(read_snapshots(json, hidden));
  return hidden;
}

std::string statistics_json(const std::vector<Value>& files) {
  return base::json::write(Array(files.begin(), files.end()));
}

Result<std::vector<Value>> read_statistics(std::string_view text) {
  ASSIGN_OR_RETURN(const auto value, base::json::parse(text));
  if (!value.is_array()) {
    return base::fail(ErrorKind::kInvalid, "lakeproxy_table.statistics: must be an array");
  }
  return std::vector<Value>(value.as_array().begin(), value.as_array().end());
}

void resolve_client_ids(const std::map<std::int64_t, SnapshotId>& aliases,
                        model::TableMetadata& metadata) {
  for (auto& [name, ref] : metadata.refs) {
    auto alias = aliases.find(ref.snapshot_id.value);
    if (alias != aliases.end()) ref.snapshot_id = alias->second;
  }
  for (Value& file : metadata.statistics) resolve_file(aliases, file);
  for (Value& file : metadata.partition_statistics) resolve_file(aliases, file);
}

void keep_shown_specs(const model::LakeTable& known, model::LakeTable& table) {
  std::erase_if(table.metadata.out_of_sight.specs, [&](const auto& hidden) {
    const auto& [id, revision] = hidden;
    return revision <= known.version.revision && known.metadata.find_spec(id) != nullptr &&
           !known.metadata.out_of_sight.specs.contains(id);
  });
}

}  // namespace lake::ducklake
