#pragma once

// What the parts of LakeReader share.

#include <vector>

#include "lakeproxy/ducklake/lake/shown_time.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/ducklake/read/lake_sql.h"
#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {

/// The row of LakeSql::version. Errors: kUnsupported  somebody has migrated the lake to
/// a version of DuckLake that is not understood.
[[nodiscard]] base::Result<model::LakeVersion> read_version(const base::pg::Rows& rows);

struct LakeReader::Impl {
  Impl(base::pg::Pool& used_pool, LakeOptions lake_options)
      : pool(&used_pool),
        options(std::move(lake_options)),
        names(options.metadata_schema),
        sql(names) {}

  /// Pool::read, again when DuckDB dropped an emptied inlined-data table
  /// between the look at its name and the look into it.
  [[nodiscard]] base::Task<base::Result<std::vector<base::pg::RowsPtr>>> read(
      base::RequestContext context, std::vector<base::pg::Query> queries);

  /// Nothing where ids had to be stored: read again.
  [[nodiscard]] base::Task<base::Result<std::optional<model::LakeTable>>> try_load(
      base::RequestContext context, model::TableId table,
      std::shared_ptr<const model::LakeTable> known);
  /// In one transaction. No answers where nothing was stored: the history at `version` is not
  /// the lake's any more, or others stored something at the same time.
  [[nodiscard]] base::Task<base::Result<std::vector<base::pg::RowsPtr>>> store(
      base::RequestContext context, model::LakeVersion version,
      std::vector<base::pg::Query> queries);

  [[nodiscard]] ReadableCopies copies() const {
    return options.readable_copies ? ReadableCopies::kOn : ReadableCopies::kOff;
  }

  base::pg::Pool* pool;
  LakeOptions options;
  SchemaSql names;
  LakeSql sql;
};

}  // namespace lake::ducklake
