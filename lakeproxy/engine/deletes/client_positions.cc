#include "lakeproxy/engine/deletes/client_positions.h"

#include <fmt/format.h>

#include "base/duckdb/sql_text.h"
#include "lakeproxy/engine/deletes/position_deletes.h"
#include "lakeproxy/engine/deletes/position_stream.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::quote_identifier;

base::Result<std::string> select_text(base::duckdb::Connection& connection,
                                      const std::string& path) {
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, path));
  const ParquetNode* file = find_reserved(root, kFilePathId, "file_path");
  const ParquetNode* position = find_reserved(root, kPositionId, "pos");
  if (file == nullptr || file->engine_type != "VARCHAR" || file->repeated) {
    return fail(ErrorKind::kCorrupt, "it has no column file_path of text");
  }
  if (position == nullptr || position->engine_type != "BIGINT" || position->repeated) {
    return fail(ErrorKind::kCorrupt, "it has no column pos of longs");
  }
  return fmt::format("SELECT {}, {} FROM read_parquet({})", quote_identifier(file->name),
                     quote_identifier(position->name), base::duckdb::quote_literal(path));
}

// Rows of one data file mostly follow each other, so it is looked up when it
// changes.
base::Result<PositionsByFile> collect(PositionStream rows,
                                      const std::optional<std::string>& referenced,
                                      std::size_t limit) {
  PositionsByFile found;
  auto current = found.end();
  for (std::size_t count = 0;; ++count) {
    auto more = rows.next();
    if (!more) return as_foreign(std::move(more).error());
    if (!*more) return found;
    if (count == limit) {
      return fail(ErrorKind::kTooLarge, "a delete file has more positions than are read");
    }
    if (current == found.end() || current->first != rows.text()) {
      if (rows.text().contains('\0')) {
        return fail(ErrorKind::kCorrupt, "it deletes rows of a file_path with a zero byte");
      }
      current = found.try_emplace(std::string(rows.text())).first;
      if (referenced && current->first != *referenced) {
        return fail(ErrorKind::kCorrupt,
                    fmt::format("it deletes rows of {}, its manifest entry says of {}",
                                current->first, *referenced));
      }
    }
    current->second.push_back(rows.position());
  }
}

}  // namespace

base::Result<PositionsByFile> read_client_positions(base::duckdb::Engine& engine,
                                                    const std::string& path,
                                                    const std::optional<std::string>& referenced,
                                                    std::chrono::steady_clock::time_point deadline,
                                                    std::size_t limit) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(std::string sql, select_text(connection, path));
  auto statement = connection.prepare(sql);
  if (!statement) return as_foreign(std::move(statement).error());
  auto stream = statement->stream({});
  if (!stream) return as_foreign(std::move(stream).error());
  ASSIGN_OR_RETURN(PositionsByFile found,
                   collect(PositionStream(std::move(*stream)), referenced, limit));
  for (auto& [file, positions] : found) {
    ASSIGN_OR_RETURN(positions, unite_positions(std::move(positions), {}));
  }
  return found;
}

}  // namespace lake::exporter
