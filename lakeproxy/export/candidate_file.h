#pragma once

// A data file on its way to a search: the parts of it that the search needs.

#include <string>
#include <vector>

#include "lakeproxy/export/equality_match.h"
#include "lakeproxy/export/transfer.h"

namespace lake::exporter {

/// Brings the footer and the delete columns of a candidate, each to its own
/// place of the file at `path`. `candidate` and `columns` outlive the task.
/// Errors, each with the file's location: kInvalid  not below `prefix`;
///         kCorrupt  it does not exist, is shorter than listed, or breaks its
///         format, or a column cannot become the table's; kUnsupported
///         encrypted, not Parquet, without field ids and name mapping;
///         kTooLarge, kUnavailable, kTimeout.
[[nodiscard]] base::Task<base::Result<SearchedFile>> bring_candidate(
    Means means, base::RequestContext context, objects::Location prefix, const Candidate* candidate,
    const std::vector<DeleteColumn>* columns, std::string path);

}  // namespace lake::exporter
