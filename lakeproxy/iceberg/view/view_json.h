#pragma once

// The JSON forms of a view, as its metadata file and the wire have them.
// Source: Iceberg view specification, "Metadata" and "Appendix A".

#include "base/core/result.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/view/view.h"

namespace lake::model {

/// Characters of one query.
inline constexpr std::size_t kMaxViewSql = 1024 * 1024;
inline constexpr std::size_t kMaxViewRepresentations = 100;
/// Versions, and entries of the log, that a view keeps at most.
inline constexpr std::size_t kMaxViewVersions = 1000;

[[nodiscard]] base::json::Value to_json(const ViewVersion& version);
/// Errors: kInvalid  a member is missing or breaks a rule: at least one
///         representation, all of type "sql", none empty, over its limit or
///         with a zero byte.
[[nodiscard]] base::Result<ViewVersion> view_version_from_json(const base::json::Fields& json);

/// The metadata file. The same view gives the same text.
[[nodiscard]] base::json::Value to_json(const ViewMetadata& view);
/// Errors: kInvalid  a member is missing or breaks a rule, an id comes twice,
///         or one points to a version or schema that is not listed;
///         kUnsupported  another format version.
[[nodiscard]] base::Result<ViewMetadata> view_metadata_from_json(const base::json::Value& value);

}  // namespace lake::model
