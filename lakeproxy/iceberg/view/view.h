#pragma once

// A view is a query that the catalog keeps and engines run: the same question
// in one or more dialects of SQL, the columns that it answers, and the
// versions that it had before.
// Source: Iceberg view specification, format version 1.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "lakeproxy/iceberg/metadata/snapshot.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::model {

inline constexpr std::int32_t kViewFormatVersion = 1;
/// What a view's first version is called.
inline constexpr std::int32_t kFirstViewVersion = 1;

struct SqlRepresentation {
  std::string sql;
  std::string dialect;  ///< As its author wrote it; compared without regard to case.

  friend bool operator==(const SqlRepresentation&, const SqlRepresentation&) = default;
};

struct ViewVersion {
  std::int32_t version_id = kFirstViewVersion;
  TimestampMs timestamp_ms = 0;
  std::int32_t schema_id = 0;
  std::map<std::string, std::string> summary;
  std::vector<SqlRepresentation> representations;  ///< At least one; one a dialect.
  /// Where names in the query that say nothing of it are looked up. No catalog:
  /// the one that the view is in.
  std::optional<std::string> default_catalog;
  std::vector<std::string> default_namespace;  ///< May have no level.

  friend bool operator==(const ViewVersion&, const ViewVersion&) = default;
  /// Same question, same columns: id and time do not count.
  [[nodiscard]] bool same_query(const ViewVersion& other) const;
};

struct ViewLogEntry {
  TimestampMs timestamp_ms = 0;
  std::int32_t version_id = 0;
  friend bool operator==(const ViewLogEntry&, const ViewLogEntry&) = default;
};

struct ViewMetadata {
  base::Uuid view_uuid{};
  std::string location;  ///< Without a trailing '/'.
  std::int32_t current_version_id = 0;
  std::vector<ViewVersion> versions;
  std::vector<ViewLogEntry> version_log;  ///< Oldest first.
  std::vector<Schema> schemas;
  std::map<std::string, std::string> properties;

  friend bool operator==(const ViewMetadata&, const ViewMetadata&) = default;
  /// Null when there is none of that id.
  [[nodiscard]] const ViewVersion* find_version(std::int32_t id) const;
  [[nodiscard]] const Schema* find_schema(std::int32_t id) const;
  /// Aborts when there is none: every view that was read or made has both.
  [[nodiscard]] const ViewVersion& current_version() const;
  [[nodiscard]] const Schema& current_schema() const;
};

/// ASCII letters in lower case: how dialects are compared.
[[nodiscard]] std::string lower_dialect(std::string_view dialect);

}  // namespace lake::model
