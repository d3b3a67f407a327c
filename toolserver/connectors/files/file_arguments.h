#pragma once

// The members of a call's arguments as strong types. The input schema was
// checked before; what is checked here again is what this code stands on.

#include "base/json/json.h"
#include "toolserver/connectors/files/file_store.h"
#include "toolserver/model/fault.h"

namespace tool::files {

/// Errors of all: E_SHAPE  a member is missing, unknown, of another type or
///                         out of its range;
///                E_POLICY  the path breaks a rule of RelativePath::parse.
[[nodiscard]] Outcome<ReadRequest> read_arguments(const base::json::Object& args);
/// Errors also: E_LIMIT  the content is over `cap` bytes.
[[nodiscard]] Outcome<WriteRequest> write_arguments(const base::json::Object& args,
                                                    std::uint64_t cap);
/// Without a path it is the root.
[[nodiscard]] Outcome<ListRequest> list_arguments(const base::json::Object& args);
/// Of files.stat and files.delete, which take only a path.
[[nodiscard]] Outcome<RelativePath> path_arguments(const base::json::Object& args);

/// The cursor that continues a listing behind `last`.
[[nodiscard]] std::string cursor_after(const RelativePath& last);

}  // namespace tool::files
