#pragma once

// Makes the files that Iceberg clients need and the lake does not have: Parquet
// for rows and deletes that DuckDB keeps in PostgreSQL, and position deletes
// with Iceberg's field ids. The embedded engine does the Parquet; it works on a
// scratch folder of its own and has no way to the network.

#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "lakeproxy/materialize/export_plan.h"
#include "lakeproxy/objects/store.h"

namespace base::duckdb {
class Engine;
}

namespace lake::exporter {

/// One event loop's exporter over the process's engine. All referenced objects
/// outlive it.
class Exporter {
 public:
  Exporter(base::duckdb::Engine& engine, base::BlockingPool& blocking, objects::ObjectStore& store);

  /// Makes every file of `plan` that is not there yet and tells what each
  /// holds. `plan` outlives the task. Statistics of inlined rows are in the
  /// lake's text form, NaN counts included, for top-level columns.
  /// Errors: kUnavailable, kTimeout (the store); kCorrupt  a delete file that is
  ///         neither position deletes nor a deletion vector; kUnsupported  a
  ///         column type that the engine cannot write; kTooLarge  over the
  ///         engine's memory.
  [[nodiscard]] base::Task<base::Result<materialize::Exported>> make(
      base::RequestContext context, const materialize::ExportPlan* plan);

  /// Exact NaN counts of the float and double `columns` (top-level or nested)
  /// of a Parquet file, by field id. A column that the file does not hold under
  /// its id is left out.
  /// Errors: as make().
  [[nodiscard]] base::Task<base::Result<std::map<model::FieldId, std::int64_t>>> count_nans(
      base::RequestContext context, std::string location, std::vector<model::FieldId> columns);

 private:
  base::duckdb::Engine* engine_;
  base::BlockingPool* blocking_;
  objects::ObjectStore* store_;
};

}  // namespace lake::exporter
