#pragma once

// What making a view and registering one have in common: where it goes, and how
// it becomes the lake's.

#include <optional>

#include "lakeproxy/iceberg/view/view.h"
#include "lakeproxy/operation/views.h"

namespace lake::operation {

/// The namespace of a view that is to be. put_new_view() checks again.
/// Errors: kNotFound  no such namespace; kAlreadyExists  a view or table has
///         the name.
[[nodiscard]] base::Task<base::Result<ducklake::NamespaceInfo>> find_view_place(
    base::RequestContext context, Catalog* catalog, model::TableIdentifier identifier);

/// Puts the metadata file, to which nothing points yet, and makes the view in
/// one transaction of PostgreSQL. Errors: those of view_file(), ObjectStore and
/// ViewStore::create_view().
[[nodiscard]] base::Task<base::Result<ViewAnswer>> put_new_view(
    base::RequestContext context, Catalog* catalog, std::optional<model::IdempotencyKey> key,
    model::TableIdentifier identifier, model::ViewMetadata metadata);

}  // namespace lake::operation
