#pragma once

// A type of Iceberg as the engine writes it. Pure.
// Source: Iceberg table specification, "Schemas and Data Types", appendix C.

#include <string>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/connectors/sql/brought_tables.h"

namespace tool::lake {

/// The engine's name of the type; ids below it go into `column`.
/// Errors: kUnsupported  the engine has none for it: geometry, variant, unknown ones;
///         kInvalid  it is no type. The message names `path`.
[[nodiscard]] base::Result<std::string> engine_type(const base::json::Value& type,
                                                    connectors::BroughtColumn& column,
                                                    const std::string& path);

}  // namespace tool::lake
