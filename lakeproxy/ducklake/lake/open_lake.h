#pragma once

// One lake: DuckLake's tables in one PostgreSQL schema, with our sidecars
// beside them. DuckDB clients write the same tables at the same time, so
// nothing here assumes to be alone.
// Source: DuckLake specification 1.0 and 1.1.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/postgres/migrations.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/model/lake_format.h"

namespace lake::ducklake {

/// Where a lake's tables stand. Both names are validated by open().
struct LakeOptions {
  std::string catalog;          ///< The REST prefix, e.g. "lake".
  std::string metadata_schema;  ///< PostgreSQL schema, e.g. "public".
  std::string data_path;        ///< "s3://bucket/data/", ends in '/'.
  /// Of tables that say nothing of it: 2 or 3.
  std::int32_t default_format_version = 2;
  /// Readable copies are made of data files that not every client reads right.
  bool readable_copies = false;
  /// Of a lake that is made because there is none. One of 1.1 is read by DuckDB 2.0 alone.
  model::LakeFormat new_format = model::LakeFormat::k1_0;
};

/// Makes the lake's tables where there are none, checks the version, adds our
/// indexes, sidecars and triggers. Idempotent; safe when several processes
/// start at once. Run once per lake and process. On a large lake the first opening
/// takes as long as its indexes take, and `watch` is told what is done.
/// Errors: kUnsupported  a lake version other than 0.4, 1.0 and 1.1, or an encrypted
///         lake; kCorrupt  it says 1.1 and lacks what 1.1 has (names it);
///         kConflict  its data path is another one (names both);
///         kUnavailable  PostgreSQL away.
[[nodiscard]] base::Task<base::Result<void>> open_lake(base::RequestContext context,
                                                       base::pg::Pool& pool, LakeOptions options,
                                                       base::pg::MigrationWatch watch = {});

/// The value of ducklake_metadata's key "version". A DuckDB client may migrate the lake
/// while we serve it, so this is asked with each version question and in each commit's
/// transaction, too.
/// Errors: kUnsupported  none of those that are understood.
[[nodiscard]] base::Result<model::LakeFormat> read_lake_format(std::string_view version);
[[nodiscard]] std::string_view to_text(model::LakeFormat format);

/// What a lake of version 1.1 has and this one lacks, "table.column" each: a row of each.
[[nodiscard]] base::pg::Query find_missing_parts(const std::string& metadata_schema);
/// Reads its rows. Errors: kCorrupt  there are some.
[[nodiscard]] base::Status check_parts(const base::pg::Rows& missing);

}  // namespace lake::ducklake
