#pragma once

// What the documents of all format versions share. Each version's own file
// calls these in the order of its members and adds what only it has.

#include <concepts>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"

namespace lake::model {

/// Appends the members of one JSON object to a text.
class MemberWriter {
 public:
  explicit MemberWriter(std::string& out) : out_(out) { out_ += '{'; }

  void number(std::string_view name, std::int64_t value);
  void null(std::string_view name);
  void string(std::string_view name, std::string_view value);
  void value(std::string_view name, const base::json::Value& value);
  /// Writes the name alone; the caller appends the value to out().
  void name(std::string_view name);
  [[nodiscard]] std::string& out() { return out_; }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

/// "format-version" to "properties".
void write_head(MemberWriter& json, const TableMetadata& table);
/// "refs" to "metadata-log".
void write_tail(MemberWriter& json, const TableMetadata& table, const MetadataFragments& fragments,
                SnapshotSelection selection);

/// Source: Iceberg table specification, "Table Metadata Fields", v2.
void write_metadata_v2(std::string& out, const TableMetadata& table,
                       const MetadataFragments& fragments, SnapshotSelection selection);
/// Source: Iceberg table specification, "Table Metadata Fields", v3.
void write_metadata_v3(std::string& out, const TableMetadata& table,
                       const MetadataFragments& fragments, SnapshotSelection selection);

}  // namespace lake::model
