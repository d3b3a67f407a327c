#pragma once

// The arguments of a call as the requests they stand for. The pipeline has
// checked them against the schemas; what the schemas cannot say is checked
// here, and nothing relies on their having been checked.

#include <variant>

#include "toolserver/connectors/sql/sql_work.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::connectors {

struct ListRequest {};
struct DescribeRequest {
  TableName table;
};
/// Which tables a statement names.
struct NameRequest {
  std::string sql;
  base::json::Array params;
};
/// Which parts of their files are read.
struct PartsRequest {
  std::vector<BroughtTable> tables;
};
/// Makes views of them.
struct BringRequest {
  std::vector<BroughtTable> tables;
};
using SqlRequest = std::variant<QueryRequest, LoadRequest, UnloadRequest, ListRequest,
                                DescribeRequest, NameRequest, PartsRequest, BringRequest>;

/// Orders of the service itself, where it brings tables; no tool has these names.
inline constexpr std::string_view kNameTables = "sql.name_tables";
inline constexpr std::string_view kFindParts = "sql.find_parts";
inline constexpr std::string_view kBringTables = "sql.bring_tables";

/// Errors: E_SHAPE  names the member and the rule; E_LIMIT  too many
///         parameters, or one too long; E_TOOL  none of the SQL tools.
[[nodiscard]] Outcome<SqlRequest> sql_request(const Invocation& call, const SqlOptions& options);

}  // namespace tool::connectors
