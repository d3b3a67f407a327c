#pragma once

// The engine names the class of an error by a code or, on the paths that have
// none, at the start of its text. Either becomes one of ours.

#include <duckdb.h>

#include <string_view>

#include "base/core/result.h"

namespace base::duckdb {

/// The reason of an error after which the engine refuses all work: a new one
/// must be opened.
inline constexpr std::string_view kEngineEnded = "engine_ended";

/// The class that the engine's `message` starts with; DUCKDB_ERROR_INVALID when
/// it is none that matters here.
[[nodiscard]] duckdb_error_type error_class(std::string_view message);

/// kTooLarge  out of memory or scratch space; kInvalid  the statement or a
/// value in it; kForbidden  outside the scratch folder; kUnsupported  not in
/// the engine; kCancelled  interrupted; kConflict  a transaction that another
/// one contradicts; kInternal  all else, with the reason kEngineEnded where the
/// engine found a defect of its own. The message becomes the detail.
[[nodiscard]] Error engine_error(duckdb_error_type type, std::string_view message);

/// Whether the engine refuses all work after such an error.
[[nodiscard]] bool ends_database(duckdb_error_type type);

}  // namespace base::duckdb
