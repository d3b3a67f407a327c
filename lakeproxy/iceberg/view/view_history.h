#pragma once

// What a new version of a view may not lose, and which old ones it keeps.
// Source: Iceberg view specification, "View properties".

#include <set>

#include "base/core/result.h"
#include "lakeproxy/iceberg/view/view.h"

namespace lake::model {

/// Errors: kInvalid  the current version lacks a dialect of `previous`, and the
///         property "replace.drop-dialect.allowed" is not true.
[[nodiscard]] base::Status check_dialects_kept(const ViewMetadata& view,
                                               const ViewVersion& previous);

/// Leaves as many versions as "version.history.num-entries" says, the highest
/// ids; the current one and those in `added` always stay. The log loses what
/// stands before an entry of a version that is gone. Log and schemas stay
/// within kMaxViewVersions: first entries and schemas without a version go.
/// Errors: kInvalid  the property is not a number from 1 to 1000.
[[nodiscard]] base::Status forget_old_versions(ViewMetadata& view,
                                               const std::set<std::int32_t>& added);

}  // namespace lake::model
