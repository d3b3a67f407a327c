#include "lakeproxy/export/equality_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/duckdb/sql_text.h"
#include "lakeproxy/export/position_deletes.h"
#include "lakeproxy/export/position_stream.h"
#include "lakeproxy/export/transfer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::duckdb::Connection;
using base::duckdb::quote_literal;
using Deadline = std::chrono::steady_clock::time_point;

Result<std::string> select_keys(Connection& connection, const LocalFile& file,
                                const std::vector<DeleteColumn>& columns) {
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, file.path));
  std::string list;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    ASSIGN_OR_RETURN(std::string value, column_in_deletes(root, columns[i]));
    list += fmt::format("{}{} AS k{}", i == 0 ? "" : ", ", value, i);
  }
  return fmt::format("SELECT {} FROM read_parquet({})", list, quote_literal(file.path));
}

std::string select_rows(const SearchedFile& file, std::size_t number) {
  std::string list;
  for (std::size_t i = 0; i < file.columns.size(); ++i) {
    list += fmt::format(", {} AS k{}", file.columns[i].expression, i);
  }
  return fmt::format(
      "SELECT CAST({} AS BIGINT) AS f, CAST(file_row_number AS BIGINT) AS p{} "
      "FROM read_parquet({}, file_row_number = true)",
      number, list, quote_literal(file.file.path));
}

// No "=" between plain columns: from those the engine would derive filters for
// the scan, and look at parts of the file that were not brought.
std::string matching_sql(const DeleteKeys& keys, const std::vector<SearchedFile>& files) {
  std::string rows;
  for (std::size_t i = 0; i < files.size(); ++i) {
    rows += (i == 0 ? "" : " UNION ALL ") + select_rows(files[i], i);
  }
  std::string equal;
  for (std::size_t i = 0; i < keys.columns.size(); ++i) {
    equal += fmt::format("{}d.k{} IS NOT DISTINCT FROM e.k{}", i == 0 ? "" : " AND ", i, i);
  }
  return fmt::format("SELECT f, p FROM ({}) d SEMI JOIN ({}) e ON {}", rows, keys.sql, equal);
}

Result<std::vector<Positions>> search(base::duckdb::Engine& engine, const std::string& sql,
                                      std::size_t files, Deadline deadline, std::size_t limit) {
  ASSIGN_OR_RETURN(Connection connection, engine.connect());
  connection.set_deadline(deadline);
  auto statement = connection.prepare(sql);
  if (!statement) return as_foreign(std::move(statement).error());
  auto stream = statement->stream({});
  if (!stream) return as_foreign(std::move(stream).error());
  PositionStream rows(std::move(*stream));
  std::vector<Positions> found(files);
  for (;;) {
    auto more = rows.next();
    if (!more) return as_foreign(std::move(more).error());
    if (!*more) break;
    Positions& positions = found[static_cast<std::size_t>(rows.number())];
    if (positions.size() == limit) {
      return fail(ErrorKind::kTooLarge,
                  "an equality delete deletes more rows of a file than can be");
    }
    positions.push_back(rows.position());
  }
  for (Positions& positions : found) {
    ASSIGN_OR_RETURN(positions, unite_positions(std::move(positions), {}));
  }
  return found;
}

}  // namespace

Result<DeleteKeys> read_delete_keys(base::duckdb::Engine& engine,
                                    const std::vector<LocalFile>& files,
                                    std::vector<DeleteColumn> columns, Deadline deadline) {
  ASSIGN_OR_RETURN(Connection connection, engine.connect());
  connection.set_deadline(deadline);
  DeleteKeys keys{.columns = std::move(columns), .sql = {}};
  for (const LocalFile& file : files) {
    auto select = select_keys(connection, file, keys.columns);
    if (!select) return as_given(std::move(select).error(), file.location);
    keys.sql += (keys.sql.empty() ? "" : " UNION ALL ") + *select;
  }
  return keys;
}

Result<std::vector<Positions>> match_rows(base::duckdb::Engine& engine, const DeleteKeys& keys,
                                          const std::vector<SearchedFile>& files, Deadline deadline,
                                          std::size_t limit) {
  auto found = search(engine, matching_sql(keys, files), files.size(), deadline, limit);
  if (found || found.error().kind() != ErrorKind::kCorrupt) return found;
  // The keys have been read before, so it is one of the files: which?
  for (const SearchedFile& file : files) {
    auto alone = search(engine, matching_sql(keys, {file}), 1, deadline, limit);
    if (!alone) return std::move(alone).error().with_context(file.file.location);
  }
  return found;
}

}  // namespace lake::exporter
