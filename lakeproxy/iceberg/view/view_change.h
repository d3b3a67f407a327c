#pragma once

// The changes of a view's commit on the view as a value. They do no I/O and
// know no lake.
// Source: Iceberg REST description, "ViewUpdate"; Iceberg view specification,
// "Versions" and "View properties".

#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/iceberg/view/view.h"
#include "lakeproxy/iceberg/view/view_update.h"

namespace lake::model {

/// reason() of kInvalid for a version with two queries in one dialect: Iceberg's
/// clients tell it from other malformed requests.
inline constexpr std::string_view kDialectTwice = "dialect_twice";

/// What the server, not the client, decides about a new view.
struct NewView {
  base::Uuid uuid{};
  std::string location;
};

/// The view that `request` asks for: one version, one schema. Columns keep
/// their ids.
/// Errors: as change_view().
[[nodiscard]] base::Result<ViewMetadata> new_view(const CreateView& request,
                                                  const NewView& decided);

/// Applies the updates in their order. A version or schema that the view
/// already has is used again, any other gets the next id. Versions beyond
/// "version.history.num-entries" (10 unless set) are forgotten, the oldest
/// first, but never the current one or one that was added here.
/// `now_ms` is when an older version becomes current again.
/// Errors: kInvalid  an id that is not there, a dialect twice in one version
///         (kDialectTwice), a new uuid or an older format version, a dialect of the version before
///         that the new one lacks (unless "replace.drop-dialect.allowed" is
///         true), a broken property; kForbidden  a reserved property;
///         kUnsupported  another location, unless the view is replaced, which passes it over.
[[nodiscard]] base::Result<ViewMetadata> change_view(const ViewMetadata& before,
                                                     const std::vector<ViewUpdate>& updates,
                                                     TimestampMs now_ms);

/// Errors: kConflict  it is another view.
[[nodiscard]] base::Status check_requirement(const ViewMetadata& view,
                                             const AssertViewUuid& requirement);

}  // namespace lake::model
