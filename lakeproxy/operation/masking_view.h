#pragma once

// A masking view: what a principal's plan leaves of a table, as a query. Nothing of it is stored.
// Iceberg clients are answered one by its name; DuckDB on the lake gets statements that make it in
// its own session (ADR 0129). Both are made here, of the same plan.
// Source: specification, sections 2.2 and 4 ("Policy-composition rules at read time").

#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/iceberg/view/view.h"
#include "lakeproxy/model/identifier.h"
#include "lakeproxy/policy/read_plan.h"
#include "lakeproxy/to_iceberg/publish/loaded_table.h"

namespace lake::operation {

/// The columns in their order, masked ones as their mask: DuckDB's SQL.
[[nodiscard]] std::string mask_projection(const policy::MaskPlan& plan,
                                          const model::Schema& schema);
/// The rows that the filters keep, through the masks: DuckDB's SQL. `from` is SQL for the table.
[[nodiscard]] std::string masking_query(const policy::MaskPlan& plan, const model::Schema& schema,
                                        std::string_view from);
/// "schema"."table", as DuckDB has it.
[[nodiscard]] std::string duckdb_name(const model::TableIdentifier& identifier);

/// The view for Iceberg clients: in DuckDB's dialect, and in Spark's where that is the same. The
/// same plan over the same columns gives the same view.
[[nodiscard]] model::ViewMetadata masking_view(const publish::LoadedTable& loaded,
                                               const model::TableIdentifier& identifier,
                                               const policy::MaskPlan& plan);

}  // namespace lake::operation
