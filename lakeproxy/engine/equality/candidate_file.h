#pragma once

// Data files on their way to a search: the parts of them that the search needs.

#include <string>
#include <vector>

#include "lakeproxy/engine/equality/equality_match.h"
#include "lakeproxy/engine/files/transfer.h"

namespace lake::exporter {

/// A candidate, and where in the scratch folder it goes.
struct BroughtTo {
  const Candidate* candidate;
  std::string path;
};

/// Brings the footer and the delete columns of each candidate, to their own
/// places of the file at its path; all at once. Candidates and `columns` outlive
/// the task.
/// Errors, each with the file's location: kInvalid  not below `prefix`;
///         kCorrupt  it does not exist, is shorter than listed, or breaks its
///         format, or a column cannot become the table's; kUnsupported
///         encrypted, not Parquet, without field ids and name mapping;
///         kTooLarge, kUnavailable, kTimeout.
[[nodiscard]] base::Task<base::Result<std::vector<SearchedFile>>> bring_candidates(
    Means means, base::RequestContext context, storage::Location prefix,
    std::vector<BroughtTo> candidates, const std::vector<DeleteColumn>* columns);

}  // namespace lake::exporter
