#include "lakeproxy/engine/equality/equality_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/duckdb/sql_text.h"
#include "lakeproxy/engine/deletes/position_deletes.h"
#include "lakeproxy/engine/deletes/position_stream.h"
#include "lakeproxy/engine/files/transfer.h"

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

// Files that one scan reads: binding a scan costs more than opening a file.
// Their delete columns are the same by name and type, and none is a part of
// another column, which could differ in its other parts.
std::vector<std::vector<std::size_t>> alike(const std::vector<SearchedFile>& files) {
  std::map<std::vector<std::string>, std::vector<std::size_t>> scans;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<std::string> how;
    for (const FileColumn& column : files[i].columns) {
      how.push_back(column.expression);
      if (column.leaves > 1) how.push_back(files[i].file.path);
    }
    scans[std::move(how)].push_back(i);
  }
  std::vector<std::vector<std::size_t>> all;
  for (auto& [how, numbers] : scans) all.push_back(std::move(numbers));
  return all;
}

// The scan's rows; its files are counted from `first`.
std::string select_rows(const std::vector<SearchedFile>& files,
                        const std::vector<std::size_t>& scan, std::size_t first) {
  std::vector<std::string> paths;
  for (std::size_t i : scan) paths.push_back(files[i].file.path);
  std::string list;
  const std::vector<FileColumn>& columns = files[scan.front()].columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    list += fmt::format(", {} AS k{}", columns[i].expression, i);
  }
  return fmt::format(
      "SELECT CAST(file_index AS BIGINT) + {} AS f, CAST(file_row_number AS BIGINT) AS p{} "
      "FROM read_parquet({}, file_row_number = true)",
      first, list, base::duckdb::quote_literals(paths));
}

struct Matching {
  std::string sql;
  std::vector<std::size_t> files;  ///< Which file each number in its rows means.
};

// No "=" between plain columns: from those the engine would derive filters for
// the scan, and look at parts of the file that were not brought.
Matching matching(const DeleteKeys& keys, const std::vector<SearchedFile>& files) {
  Matching result;
  std::string rows;
  for (const auto& scan : alike(files)) {
    rows += (rows.empty() ? "" : " UNION ALL ") + select_rows(files, scan, result.files.size());
    std::ranges::copy(scan, std::back_inserter(result.files));
  }
  std::string equal;
  for (std::size_t i = 0; i < keys.columns.size(); ++i) {
    equal += fmt::format("{}d.k{} IS NOT DISTINCT FROM e.k{}", i == 0 ? "" : " AND ", i, i);
  }
  result.sql = fmt::format("SELECT f, p FROM ({}) d SEMI JOIN ({}) e ON {}", rows, keys.sql, equal);
  return result;
}

Result<std::vector<Positions>> search(base::duckdb::Engine& engine, const DeleteKeys& keys,
                                      const std::vector<SearchedFile>& files, Deadline deadline,
                                      std::size_t limit) {
  const Matching match = matching(keys, files);
  ASSIGN_OR_RETURN(Connection connection, engine.connect());
  connection.set_deadline(deadline);
  auto statement = connection.prepare(match.sql);
  if (!statement) return as_foreign(std::move(statement).error());
  auto stream = statement->stream({});
  if (!stream) return as_foreign(std::move(stream).error());
  PositionStream rows(std::move(*stream));
  std::vector<Positions> found(files.size());
  for (;;) {
    auto more = rows.next();
    if (!more) return as_foreign(std::move(more).error());
    if (!*more) break;
    Positions& positions = found[match.files[static_cast<std::size_t>(rows.number())]];
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
  auto found = search(engine, keys, files, deadline, limit);
  if (found || found.error().kind() != ErrorKind::kCorrupt) return found;
  // The keys have been read before, so it is one of the files: which?
  for (const SearchedFile& file : files) {
    auto alone = search(engine, keys, {file}, deadline, limit);
    if (!alone) return std::move(alone).error().with_context(file.file.location);
  }
  return found;
}

}  // namespace lake::exporter
