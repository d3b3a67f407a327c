#pragma once

// The errors for a namespace, table or view that does not exist.

#include <string_view>

#include "base/core/error.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/model/identifier.h"

namespace lake::ducklake {

/// kNotFound with reason kNoSuchNamespace.
[[nodiscard]] base::Error no_such_namespace(const model::Namespace& name);
/// kNotFound with reason kNoSuchTable; `name` is for people.
[[nodiscard]] base::Error no_such_table(std::string_view name);
/// kNotFound with reason kNoSuchView.
[[nodiscard]] base::Error no_such_view(std::string_view name);

}  // namespace lake::ducklake
