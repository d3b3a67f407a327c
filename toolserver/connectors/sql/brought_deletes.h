#pragma once

// The rows that are gone of a brought table: from Parquet files of positions (format version 2) and
// deletion vectors (version 3) into one table of the engine, which the view leaves out.
// Sources: Iceberg table specification, "Position Delete Files", "Deletion Vectors".

#include <string>

#include "base/duckdb/connection.h"
#include "toolserver/connectors/sql/brought_tables.h"

namespace tool::connectors {

/// The most positions of deletion vectors that one statement leaves out: the engine holds them, and
/// once more as it joins, in the memory of one query.
inline constexpr std::size_t kMostDeleted = 4 << 20;

/// The name of such a table in a statement; no statement of a caller may name one.
[[nodiscard]] std::string deleted_name(std::size_t number);

/// Makes the table `name` of (file BIGINT, pos BIGINT): files have their numbers in the order of
/// `alike`. `left` is what is left of kMostDeleted, and gets less. Nothing where no file has
/// deletes.
/// Errors: kUnsupported  a vector is none or over the bound: the message names the table; of the
///         engine, kTooLarge where its memory ends.
[[nodiscard]] base::Status make_deleted(base::duckdb::Connection& connection,
                                        const BroughtTable& table,
                                        const std::vector<FilesAlike>& alike,
                                        const std::string& folder, const std::string& name,
                                        std::size_t& left);

}  // namespace tool::connectors
