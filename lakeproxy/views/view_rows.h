#pragma once

// A view's rows, read into values and written from them.

#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/views/view_store.h"
#include "lakeproxy/views/view_text.h"

namespace lake::ducklake {

/// The statements whose rows read_view takes; the name stands in both.
[[nodiscard]] std::vector<base::pg::Query> load_view(const SchemaSql& sql,
                                                     const model::TableIdentifier& identifier);
/// The first has a row. Errors: kCorrupt  a sidecar breaks its form.
[[nodiscard]] base::Result<LakeView> read_view(const model::TableIdentifier& identifier,
                                               const LakeOptions& options,
                                               const std::vector<base::pg::RowsPtr>& rows);

struct ViewPlace {
  std::int64_t view_id = 0;
  std::int64_t begin = 0;  ///< Lake snapshot.
};

/// A row of ducklake_view for a view that is new.
[[nodiscard]] base::pg::Query insert_view(const SchemaSql& sql, ViewPlace place,
                                          std::int64_t schema_id, const std::string& name,
                                          const model::ViewMetadata& view);
/// The row that takes the place of the present one; end_view() runs after it.
[[nodiscard]] base::pg::Query follow_view(const SchemaSql& sql, ViewPlace place,
                                          const LakeViewQuery& query);
[[nodiscard]] base::pg::Query move_view(const SchemaSql& sql, ViewPlace place,
                                        std::int64_t schema_id, const std::string& name);
[[nodiscard]] base::pg::Query end_view(const SchemaSql& sql, ViewPlace place);

/// Tags that DuckDB 2.0 put on columns of the view's query end with it. Nothing before
/// DuckLake 1.1.
void end_column_tags(const SchemaSql& sql, ViewPlace place, model::LakeFormat format,
                     std::vector<base::pg::Query>& out);

/// The sidecars, whole.
void put_view(const SchemaSql& sql, std::int64_t view_id, std::int64_t revision,
              const model::ViewMetadata& view, const std::string& metadata_location,
              std::vector<base::pg::Query>& out);

}  // namespace lake::ducklake
