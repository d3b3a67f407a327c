#pragma once

// Reasons of errors (base::Error::reason) that callers of several folders of the
// lake tell apart.

#include <string_view>

namespace lake::ducklake {

// Of kNotFound.
inline constexpr std::string_view kNoSuchNamespace = "no_such_namespace";
inline constexpr std::string_view kNoSuchTable = "no_such_table";
inline constexpr std::string_view kNoSuchView = "no_such_view";

// Of kConflict.
/// The namespace to drop holds tables, views or namespaces.
inline constexpr std::string_view kNamespaceNotEmpty = "namespace_not_empty";
/// The table or view changed since it was read; read it again.
inline constexpr std::string_view kStale = "stale";
/// Other writers were always faster; nothing is wrong with the change itself.
inline constexpr std::string_view kBusy = "busy";

}  // namespace lake::ducklake
