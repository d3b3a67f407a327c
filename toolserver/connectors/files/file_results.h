#pragma once

// What a caller gets back: a short text for people and models, and the same as
// JSON of the capability's output schema.

#include "toolserver/connectors/files/file_store.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::files {

/// The content twice: as text or bytes, and in `structured` as a string in the
/// encoding that was asked for.
[[nodiscard]] ToolResult read_result(const ReadRequest& request, const ReadAnswer& answer);
[[nodiscard]] ToolResult write_result(const WriteRequest& request, const WriteAnswer& answer);
[[nodiscard]] ToolResult list_result(const ListRequest& request, const ListAnswer& answer);
[[nodiscard]] ToolResult stat_result(const RelativePath& path, const FileFacts& facts);
[[nodiscard]] ToolResult delete_result(const RelativePath& path, Effect effect);

/// What a failed call is: a result with is_error where the caller can correct
/// itself (no such file, the name is taken, not text), else a refusal:
/// kForbidden E_POLICY, kTooLarge E_LIMIT, kTimeout E_TIMEOUT, kCancelled
/// E_CANCELLED, kUnavailable E_BUSY, all others E_INTERNAL.
[[nodiscard]] Outcome<ToolResult> failed(base::Error error);

}  // namespace tool::files
