#include "lakeproxy/engine/parquet/column_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/duckdb/sql_text.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::uint64_t kMagicBytes = 4;
constexpr std::uint64_t kEndBytes = 8;  // The footer's length and the magic.
constexpr std::uint64_t kMostFooter = 64 << 20;
// Ranges with no more than this between them are read as one.
constexpr std::uint64_t kGap = 64 << 10;
// Some old writers left the header of the dictionary page out of a chunk's size.
constexpr std::uint64_t kSpare = 128;

base::Error corrupt() { return fail(ErrorKind::kCorrupt, "its footer is not Parquet's"); }

bool is_wanted(std::int64_t leaf, const std::vector<FileColumn>& columns) {
  return std::ranges::any_of(columns, [&](const FileColumn& column) {
    return leaf >= column.first_leaf && leaf < column.first_leaf + column.leaves;
  });
}

// Of one column chunk, as the engine will read it.
base::Result<ByteRange> chunk_range(const base::duckdb::Rows& row) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
  if (row.is_null(2) || row.is_null(3)) return corrupt();
  std::int64_t begin = row.int64(2);
  if (!row.is_null(1) && row.int64(1) > 0) begin = std::min(begin, row.int64(1));
  std::int64_t size = row.int64(3);
  if (begin < 0 || begin > kMost || size < 0 || size > kMost) return corrupt();
  auto first = static_cast<std::uint64_t>(begin);
  return ByteRange{first, first + static_cast<std::uint64_t>(size) + kSpare};
}

std::vector<ByteRange> merged(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::begin);
  std::vector<ByteRange> out;
  for (const ByteRange& range : ranges) {
    if (!out.empty() && range.begin <= out.back().end + kGap) {
      out.back().end = std::max(out.back().end, range.end);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

base::Status check_size(const std::vector<ByteRange>& ranges) {
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) total += range.end - range.begin;
  if (total <= kMostColumnBytes) return {};
  return fail(ErrorKind::kTooLarge, "its columns are larger than is read");
}

}  // namespace

base::Result<std::uint64_t> footer_begin(std::string_view tail, std::uint64_t file_bytes) {
  if (tail.size() < kMagicBytes + kEndBytes || tail.size() > file_bytes) return corrupt();
  if (tail.ends_with("PARE")) return fail(ErrorKind::kUnsupported, "its footer is encrypted");
  if (!tail.ends_with("PAR1")) return corrupt();
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length |= std::uint64_t{static_cast<std::uint8_t>(tail[tail.size() - kEndBytes + i])} << 8 * i;
  }
  if (length > kMostFooter) return fail(ErrorKind::kTooLarge, "its footer is longer than is read");
  if (length + kEndBytes + kMagicBytes > file_bytes) return corrupt();
  return file_bytes - kEndBytes - length;
}

base::Result<std::vector<std::vector<ByteRange>>> column_ranges(
    base::duckdb::Connection& connection, const std::vector<WantedColumns>& files) {
  std::vector<std::string> paths;
  std::map<std::string, std::size_t, std::less<>> number_of;
  for (const WantedColumns& file : files) {
    number_of.emplace(file.path, paths.size());
    paths.push_back(file.path);
  }
  auto rows =
      connection.execute(fmt::format("SELECT column_id, dictionary_page_offset, data_page_offset, "
                                     "total_compressed_size, file_name FROM parquet_metadata({})",
                                     base::duckdb::quote_literals(paths)));
  if (!rows) return as_foreign(std::move(rows).error());
  std::vector<std::vector<ByteRange>> ranges(files.size());
  for (;;) {
    ASSIGN_OR_RETURN(bool more, rows->next());
    if (!more) break;
    auto number = number_of.find(rows->bytes(4));
    if (number == number_of.end()) return corrupt();
    const WantedColumns& file = files[number->second];
    if (rows->is_null(0) || !is_wanted(rows->int64(0), file.columns)) continue;
    ASSIGN_OR_RETURN(ByteRange range, chunk_range(*rows));
    // What lies past the end the engine will refuse.
    range.end = std::min(range.end, file.there);
    if (range.begin < range.end) ranges[number->second].push_back(range);
  }
  for (auto& of_file : ranges) {
    of_file = merged(std::move(of_file));
    RETURN_IF_ERROR(check_size(of_file));
  }
  return ranges;
}

base::Result<std::vector<RowGroup>> row_groups(base::duckdb::Connection& connection,
                                               const std::string& path, std::uint64_t there) {
  auto rows = connection.execute(fmt::format(
      "SELECT row_group_id, dictionary_page_offset, data_page_offset, total_compressed_size, "
      "row_group_num_rows FROM parquet_metadata({}) ORDER BY row_group_id",
      base::duckdb::quote_literal(path)));
  if (!rows) return as_foreign(std::move(rows).error());
  std::vector<RowGroup> groups;
  std::optional<std::int64_t> last;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, rows->next());
    if (!more) break;
    if (rows->is_null(0) || rows->is_null(4) || rows->int64(4) < 0) return corrupt();
    ASSIGN_OR_RETURN(ByteRange range, chunk_range(*rows));
    range = {std::min(range.begin, there), std::min(range.end, there)};
    if (last != rows->int64(0)) {
      groups.push_back({rows->int64(4), range});
    } else {
      ByteRange& all = groups.back().bytes;
      all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
    }
    last = rows->int64(0);
  }
  return groups;
}

}  // namespace lake::exporter
