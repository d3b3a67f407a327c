#include "toolserver/connectors/sql/parquet_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duckdb/sql_text.h"

namespace tool::connectors {
namespace {

using base::ErrorKind;

// A request costs more than so many bytes.
constexpr std::int64_t kGap = 32 << 10;

// Of the leaves of `columns`, as the file numbers them.
std::string leaf_numbers(const std::vector<FileColumn>& file,
                         const std::vector<BroughtColumn>& columns) {
  std::string list;
  std::size_t number = 0;
  for (const FileColumn& column : file) {
    const bool is_read = column.id && std::ranges::any_of(columns, [&](const BroughtColumn& one) {
                           return one.id == *column.id;
                         });
    for (std::size_t i = 0; i < column.leaves; ++i, ++number) {
      if (is_read) list += fmt::format("{}{}", list.empty() ? "" : ", ", number);
    }
  }
  return list;
}

}  // namespace

std::vector<FilePart> joined_parts(std::vector<FilePart> parts, std::int64_t gap) {
  std::ranges::sort(parts, {}, &FilePart::begin);
  std::vector<FilePart> joined;
  for (const FilePart& part : parts) {
    if (part.begin >= part.end) continue;
    if (!joined.empty() && part.begin - joined.back().end <= gap) {
      joined.back().end = std::max(joined.back().end, part.end);
    } else {
      joined.push_back(part);
    }
  }
  return joined;
}

base::Result<std::vector<FilePart>> parts_of(base::duckdb::Connection& connection,
                                             const std::string& path, std::int64_t size,
                                             const std::vector<BroughtColumn>& columns) {
  ASSIGN_OR_RETURN(const auto file, columns_of(connection, path));
  const std::string leaves = leaf_numbers(file, columns);
  std::vector<FilePart> parts;
  if (leaves.empty()) return parts;
  // A chunk begins where the engine begins to read it. Where a filter has no length it reaches to
  // the end of the file at most; a writer that does not count its header is off by less than 64.
  ASSIGN_OR_RETURN(
      auto rows,
      connection.execute(fmt::format(
          "SELECT CASE WHEN dictionary_page_offset >= 4 THEN dictionary_page_offset ELSE "
          "data_page_offset END::BIGINT, total_compressed_size::BIGINT, "
          "bloom_filter_offset::BIGINT, least(coalesce(bloom_filter_length + 64, {0}), {0} - "
          "bloom_filter_offset)::BIGINT FROM parquet_metadata({1}) WHERE column_id IN ({2})",
          size, base::duckdb::quote_literal(path), leaves)));
  const auto add = [&](std::int64_t begin, std::int64_t length) {
    if (begin < 0 || length < 0 || begin > size || length > size - begin) return false;
    parts.push_back({begin, begin + length});
    return true;
  };
  while (true) {
    ASSIGN_OR_RETURN(const bool any, rows.next());
    if (!any) break;
    const bool has_chunk = !rows.is_null(0) && !rows.is_null(1);
    const bool has_filter = !rows.is_null(2);
    if (!has_chunk || !add(rows.int64(0), rows.int64(1)) ||
        (has_filter && !add(rows.int64(2), rows.int64(3)))) {
      return base::fail(ErrorKind::kCorrupt, "a part of a Parquet file lies outside of it");
    }
  }
  return joined_parts(std::move(parts), kGap);
}

}  // namespace tool::connectors
