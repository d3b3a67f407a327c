#pragma once

// Turns the engine's chunks into an answer while they come, and stops at the
// limits: of a result of any size no more is held than the answer may be long.

#include <cstddef>
#include <cstdint>

#include "base/duckdb/stream.h"
#include "toolserver/connectors/sql/sql_call.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::connectors {

struct ResultLimits {
  std::size_t rows;   ///< More are cut, and the answer says so.
  std::size_t bytes;  ///< Of the whole answer.
};

/// Either a finished answer, the engine's error, or a refusal of ours.
struct ResultError {
  std::optional<base::Error> engine;
  std::optional<Fault> fault;
};
using RenderedResult = std::expected<ToolResult, ResultError>;

/// [{"name": ..., "type": ...}]
[[nodiscard]] base::json::Array column_list(const base::duckdb::Stream& stream);

/// {"columns": [...], "rows": [[...], ...], "row_count": n, "truncated": bool},
/// as text and as `structured`.
/// Errors: E_LIMIT  more than limits.bytes; E_SHAPE  a type without a rule.
[[nodiscard]] RenderedResult render_json(base::duckdb::Stream stream, ResultLimits limits,
                                         SqlCall& call);

/// An Arrow stream as the content; `structured` is as of render_json, without
/// the rows. Errors: as render_json.
[[nodiscard]] RenderedResult render_arrow(base::duckdb::Stream stream, ResultLimits limits,
                                          SqlCall& call);

}  // namespace tool::connectors
