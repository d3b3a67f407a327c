#pragma once

// The view operations of the catalog; each has a file of its name.
// Errors besides those named: the lake's and the object store's (kUnavailable,
// kTimeout, kOutcomeUnknown) and kNotFound for a missing view or namespace.
// Source: Iceberg REST description, "/v1/{prefix}/namespaces/{namespace}/views".

#include <optional>
#include <string>

#include "lakeproxy/iceberg/view/view_update.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/operation/namespaces.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

/// A view's metadata file: where it stands, and what it holds.
using ViewAnswer = materialize::NewObject;

struct ListViews {
  model::Namespace name_space;
  Paging paging;
};
[[nodiscard]] inline policy::Targets targets(const ListViews& request) {
  return {policy::Target::of(request.name_space)};
}
[[nodiscard]] base::Task<base::Result<ducklake::Page<std::string>>> list_views(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ListViews> request);

struct CreateViewIn {
  model::Namespace name_space;
  model::CreateView view;
};
[[nodiscard]] inline policy::Targets targets(const CreateViewIn& request) {
  return {policy::Target::view(request.name_space, request.view.name)};
}
/// Errors: kAlreadyExists  a view or table has the name; kInvalid; kForbidden
///         a reserved property.
[[nodiscard]] base::Task<base::Result<ViewAnswer>> create_view(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CreateViewIn> request);

// What making a view and registering one have in common: where it goes, and how it becomes
// the lake's (create_view.cc).

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

struct LoadView {
  model::TableIdentifier identifier;
};
[[nodiscard]] inline policy::Targets targets(const LoadView& request) {
  return {policy::Target::view(request.identifier)};
}
[[nodiscard]] base::Task<base::Result<ViewAnswer>> load_view(base::RequestContext context,
                                                             Catalog* catalog,
                                                             policy::Authorized<LoadView> request);
/// The same for the operations that answer with a view.
[[nodiscard]] base::Task<base::Result<ViewAnswer>> answer_with(base::RequestContext context,
                                                               Catalog* catalog,
                                                               const ducklake::LakeView* view);
/// Reads the lake's row alone; of a masking view the table and its policies.
[[nodiscard]] base::Task<base::Result<void>> view_exists(base::RequestContext context,
                                                         Catalog* catalog,
                                                         policy::Authorized<LoadView> request);

struct ReplaceView {
  model::TableIdentifier identifier;
  model::ViewCommit commit;
};
[[nodiscard]] inline policy::Targets targets(const ReplaceView& request) {
  return {policy::Target::view(request.identifier)};
}
/// Errors: kConflict  a requirement does not hold, or the view keeps changing:
///         nothing was changed; kInvalid, kForbidden, kUnsupported  an update;
///         kOutcomeUnknown  read the view before trying again.
[[nodiscard]] base::Task<base::Result<ViewAnswer>> replace_view(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ReplaceView> request);

struct DropView {
  model::TableIdentifier identifier;
};
[[nodiscard]] inline policy::Targets targets(const DropView& request) {
  return {policy::Target::view(request.identifier)};
}
/// The metadata files stay: register_view brings the view back from them.
[[nodiscard]] base::Task<base::Result<void>> drop_view(base::RequestContext context,
                                                       Catalog* catalog,
                                                       policy::Authorized<DropView> request);

struct RenameView {
  model::TableIdentifier from;
  model::TableIdentifier to;
};
[[nodiscard]] inline policy::Targets targets(const RenameView& request) {
  return {policy::Target::view(request.from), policy::Target::view(request.to)};
}
/// Errors: kAlreadyExists; kInvalid  a reserved name.
[[nodiscard]] base::Task<base::Result<void>> rename_view(base::RequestContext context,
                                                         Catalog* catalog,
                                                         policy::Authorized<RenameView> request);

struct RegisterViewIn {
  model::Namespace name_space;
  model::RegisterView view;
};
[[nodiscard]] inline policy::Targets targets(const RegisterViewIn& request) {
  return {policy::Target::view(request.name_space, request.view.name)};
}
/// Errors: kAlreadyExists  a view or table has the name; kInvalid  the file is
///         not under the lake's data path, missing, or no view's metadata;
///         kUnsupported  its format version.
[[nodiscard]] base::Task<base::Result<ViewAnswer>> register_view(
    base::RequestContext context, Catalog* catalog, policy::Authorized<RegisterViewIn> request);

}  // namespace lake::operation
