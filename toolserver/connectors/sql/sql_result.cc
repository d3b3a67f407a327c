#include "toolserver/connectors/sql/sql_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "toolserver/connectors/sql/arrow_ipc.h"
#include "toolserver/connectors/sql/json_cells.h"

namespace tool::connectors {
namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;
using Failed = std::unexpected<ResultError>;

Failed engine_error(base::Error error) { return Failed(ResultError{std::move(error), {}}); }
Failed refused(Fault fault) { return Failed(ResultError{{}, std::move(fault)}); }
Failed no_rule(const base::Error& error) {
  return refused(refuse(Code::kShape, "sql: " + error.message()));
}
Failed too_long(std::size_t bytes) {
  return refused(refuse(Code::kLimit, fmt::format("sql: the answer is longer than {} bytes; "
                                                  "ask for fewer rows or columns",
                                                  bytes)));
}

Object summary(Array columns, std::size_t rows, bool truncated) {
  Object object;
  object["columns"] = std::move(columns);
  object["row_count"] = static_cast<std::int64_t>(rows);
  object["truncated"] = truncated;
  return object;
}

base::Result<std::vector<CellReader>> readers_of(const base::duckdb::Stream& stream) {
  std::vector<CellReader> readers;
  for (std::size_t i = 0; i < stream.types().size(); ++i) {
    auto reader = CellReader::of(stream.types()[i]);
    if (!reader) return std::move(reader).error().with_context("column " + stream.names()[i]);
    readers.push_back(std::move(*reader));
  }
  return readers;
}

// What one row takes at least, looked at no further than `most` a cell.
std::size_t row_size(const std::vector<CellReader>& readers, duckdb_data_chunk chunk, idx_t row,
                     std::size_t most) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < readers.size() && size <= most; ++i) {
    size += readers[i].size(duckdb_data_chunk_get_vector(chunk, i), row, most);
  }
  return size;
}

// Rows as JSON, twice: as values, and as the text that is counted.
class JsonRows {
 public:
  explicit JsonRows(std::vector<CellReader> readers) : readers_(std::move(readers)) {}

  [[nodiscard]] std::size_t size(duckdb_data_chunk chunk, idx_t row, std::size_t most) const {
    return row_size(readers_, chunk, row, most);
  }

  void add(duckdb_data_chunk chunk, idx_t row) {
    Array cells;
    cells.reserve(readers_.size());
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      cells.push_back(readers_[i].cell(duckdb_data_chunk_get_vector(chunk, i), row));
    }
    if (!text.empty()) text += ',';
    Value value(std::move(cells));
    base::json::append(text, value);
    rows.push_back(std::move(value));
  }

  Array rows;
  std::string text;

 private:
  std::vector<CellReader> readers_;
};

ToolResult json_answer(Object head, JsonRows rows) {
  Value columns = std::move(head["columns"]);
  std::string text = "{\"columns\":" + base::json::write(columns) + ",\"rows\":[" + rows.text +
                     "],\"row_count\":" + base::json::write(head["row_count"]) +
                     ",\"truncated\":" + base::json::write(head["truncated"]) + "}";
  Object structured;
  structured["columns"] = std::move(columns);
  structured["rows"] = std::move(rows.rows);
  structured["row_count"] = std::move(head["row_count"]);
  structured["truncated"] = std::move(head["truncated"]);
  ToolResult result;
  result.content.push_back({"application/json", std::move(text)});
  result.structured = std::move(structured);
  return result;
}

std::expected<ArrowField, ResultError> arrow_root(const base::duckdb::Stream& stream) {
  std::vector<duckdb_logical_type> types = stream.types();
  std::vector<const char*> names;
  for (const std::string& name : stream.names()) names.push_back(name.c_str());
  ArrowOwner<ArrowSchema> schema;
  duckdb_error_data failed = duckdb_to_arrow_schema(stream.arrow_options(), types.data(),
                                                    names.data(), types.size(), &*schema);
  bool bad = failed != nullptr && duckdb_error_data_has_error(failed);
  duckdb_destroy_error_data(&failed);
  if (bad) return refused(refuse(Code::kShape, "sql: a column has no Arrow form"));
  auto root = arrow_field(*schema);
  if (!root) return no_rule(root.error());
  return *std::move(root);
}

std::expected<std::string, ResultError> arrow_batch(const ArrowField& root,
                                                    duckdb_arrow_options options,
                                                    duckdb_data_chunk chunk, idx_t rows) {
  ArrowOwner<ArrowArray> array;
  duckdb_error_data failed = duckdb_data_chunk_to_arrow(options, chunk, &*array);
  bool bad = failed != nullptr && duckdb_error_data_has_error(failed);
  duckdb_destroy_error_data(&failed);
  if (bad) return refused(refuse(Code::kShape, "sql: a value has no Arrow form"));
  auto batch = arrow_batch_message(root, *array, static_cast<std::int64_t>(rows));
  if (!batch) return no_rule(batch.error());
  return *std::move(batch);
}

}  // namespace

Array column_list(const base::duckdb::Stream& stream) {
  Array columns;
  for (std::size_t i = 0; i < stream.names().size(); ++i) {
    Object column;
    column["name"] = stream.names()[i];
    column["type"] = type_text(stream.types()[i]);
    columns.push_back(std::move(column));
  }
  return columns;
}

RenderedResult render_json(base::duckdb::Stream stream, ResultLimits limits, SqlCall& call) {
  // For the members around the rows and the columns' names.
  constexpr std::size_t kAround = 256;
  auto readers = readers_of(stream);
  if (!readers) return no_rule(readers.error());
  JsonRows rows(*std::move(readers));
  Array columns = column_list(stream);
  std::size_t head = kAround + base::json::write(columns).size();
  for (;;) {
    auto chunk = stream.next();
    if (!chunk) return engine_error(std::move(chunk).error());
    if (*chunk == nullptr) break;
    idx_t count = duckdb_data_chunk_get_size(*chunk);
    for (idx_t row = 0; row < count; ++row) {
      if (rows.rows.size() == limits.rows) {
        return json_answer(summary(std::move(columns), limits.rows, true), std::move(rows));
      }
      // Known before it is copied, three times over.
      std::size_t used = head + rows.text.size();
      if (used + rows.size(*chunk, row, limits.bytes) > limits.bytes) {
        return too_long(limits.bytes);
      }
      rows.add(*chunk, row);
      call.count_row();
      if (head + rows.text.size() > limits.bytes) return too_long(limits.bytes);
    }
    if (auto ended = call.ended()) return refused(*std::move(ended));
  }
  std::size_t count = rows.rows.size();
  return json_answer(summary(std::move(columns), count, false), std::move(rows));
}

RenderedResult render_arrow(base::duckdb::Stream stream, ResultLimits limits, SqlCall& call) {
  auto root = arrow_root(stream);
  if (!root) return Failed(std::move(root).error());
  // A type that JSON has no rule for has none in Arrow either.
  auto readers_made = readers_of(stream);
  if (!readers_made) return no_rule(readers_made.error());
  const std::vector<CellReader>& readers = *readers_made;
  // Base64 and a BIT's digits are longer than their bytes.
  constexpr std::size_t kShrinks = 8;
  std::string bytes = arrow_schema_message(*root);
  std::size_t rows = 0;
  bool truncated = false;
  while (!truncated) {
    auto chunk = stream.next();
    if (!chunk) return engine_error(std::move(chunk).error());
    if (*chunk == nullptr) break;
    idx_t count = duckdb_data_chunk_get_size(*chunk);
    idx_t taken = std::min<idx_t>(count, limits.rows - rows);
    truncated = taken < count;
    if (taken > 0) {
      duckdb_data_chunk_set_size(*chunk, taken);
      std::size_t size = bytes.size();
      for (idx_t row = 0; row < taken && size <= limits.bytes; ++row) {
        size += row_size(readers, *chunk, row, limits.bytes) / kShrinks;
      }
      if (size > limits.bytes) return too_long(limits.bytes);
      auto batch = arrow_batch(*root, stream.arrow_options(), *chunk, taken);
      if (!batch) return Failed(std::move(batch).error());
      bytes += *batch;
    }
    rows += taken;
    for (idx_t i = 0; i < taken; ++i) call.count_row();
    if (bytes.size() > limits.bytes) return too_long(limits.bytes);
    if (auto ended = call.ended()) return refused(*std::move(ended));
  }
  bytes += arrow_end();
  if (bytes.size() > limits.bytes) return too_long(limits.bytes);
  ToolResult result;
  result.structured = summary(column_list(stream), rows, truncated);
  result.content.push_back({kArrowMediaType, std::move(bytes)});
  return result;
}

}  // namespace tool::connectors
