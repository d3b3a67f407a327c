#pragma once

// What a token reads, as a list: for a right that outlives the request, as a database login's.

#include <optional>
#include <vector>

#include "lakeproxy/auth/scope.h"

namespace lake::auth {

/// The namespaces whose tables the scopes read; nothing: every namespace.
[[nodiscard]] std::optional<std::vector<model::Namespace>> readable_namespaces(
    const Scopes& scopes);

}  // namespace lake::auth
