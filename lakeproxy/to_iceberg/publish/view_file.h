#pragma once

// The metadata file of a view. Its name follows from its content, so it is put
// only if absent, and whoever makes it makes the same object.

#include "base/core/result.h"
#include "lakeproxy/iceberg/view/view.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::publish {

/// Errors: kTooLarge  the metadata has more than 16 MiB.
/// Source: Iceberg view specification, "Metadata".
[[nodiscard]] base::Result<materialize::NewObject> view_file(const model::ViewMetadata& view);

}  // namespace lake::publish
