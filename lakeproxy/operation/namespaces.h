#pragma once

// The namespace operations of the catalog, and the paging that lists of namespaces, tables
// and views share. Errors besides those named: the lake's (kUnavailable, kTimeout,
// kOutcomeUnknown).
// Source: Iceberg REST description, "/v1/{prefix}/namespaces".

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/lake/name_page.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

/// Reason of kNotFound: a lake has no functions that Iceberg's clients could call.
inline constexpr std::string_view kNoSuchFunction = "no_such_function";

/// Nothing: everything at once, as clients that do not page expect.
struct Paging {
  std::optional<std::string> token;
  std::size_t size = 1000;
};

/// What `read` gives, a task of a page for each request: one page where the
/// client pages, else all of them as one. Errors: those of `read`.
template <class Item, class Read>
base::Task<base::Result<ducklake::Page<Item>>> read_pages(Paging paging, Read read) {
  ducklake::PageRequest page{paging.size, paging.token.value_or("")};
  ducklake::Page<Item> all;
  do {
    CO_ASSIGN_OR_RETURN(ducklake::Page<Item> part, co_await read(page));
    std::ranges::move(part.items, std::back_inserter(all.items));
    all.next = std::move(part.next);
    page.after = all.next.value_or("");
  } while (!paging.token && all.next);
  co_return all;
}

struct ListNamespaces {
  std::optional<model::Namespace> parent;
  Paging paging;
};
[[nodiscard]] inline policy::Targets targets(const ListNamespaces& request) {
  return {request.parent ? policy::Target::of(*request.parent) : policy::Target::catalog()};
}
/// Those that the caller may see: a page may be shorter than was asked for, and only the last one
/// is empty. Errors: kNotFound  no such parent.
[[nodiscard]] base::Task<base::Result<ducklake::Page<model::Namespace>>> list_namespaces(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ListNamespaces> request);

struct CreateNamespace {
  model::Namespace name;
  std::map<std::string, std::string> properties;
};
[[nodiscard]] inline policy::Targets targets(const CreateNamespace& request) {
  return {policy::Target::of(request.name)};
}
/// Errors: kAlreadyExists; kForbidden  a reserved property.
[[nodiscard]] base::Task<base::Result<void>> create_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CreateNamespace> request);

struct LoadNamespace {
  model::Namespace name;
};
[[nodiscard]] inline policy::Targets targets(const LoadNamespace& request) {
  return {policy::Target::of(request.name)};
}
/// Errors: kNotFound.
[[nodiscard]] base::Task<base::Result<ducklake::NamespaceInfo>> load_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<LoadNamespace> request);

struct DropNamespace {
  model::Namespace name;
};
[[nodiscard]] inline policy::Targets targets(const DropNamespace& request) {
  return {policy::Target::of(request.name)};
}
/// Errors: kNotFound; kConflict  not empty.
[[nodiscard]] base::Task<base::Result<void>> drop_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<DropNamespace> request);

struct ChangeNamespace {
  model::Namespace name;
  std::vector<std::string> removals;
  std::map<std::string, std::string> updates;
};
[[nodiscard]] inline policy::Targets targets(const ChangeNamespace& request) {
  return {policy::Target::of(request.name)};
}
/// Errors: kNotFound; kForbidden  a reserved property.
[[nodiscard]] base::Task<base::Result<ducklake::PropertyChanges>> change_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ChangeNamespace> request);

}  // namespace lake::operation
