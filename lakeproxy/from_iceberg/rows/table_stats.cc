#include "lakeproxy/from_iceberg/rows/table_stats.h"

#include <string>

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;
using Numbers = std::vector<std::int64_t>;

// The columns of table $1 with the smallest and the greatest value of each type,
// as DuckDB casts them from text. NULLs for a type of whose bounds DuckDB makes
// no use. Of strings it compares the first eight bytes.
constexpr std::string_view kWidest =
    "WITH widest(type, low, high) AS (VALUES ('boolean', 'false', 'true'), ('int8', '-128', "
    "'127'), ('int16', '-32768', '32767'), ('int32', '-2147483648', '2147483647'), ('int64', "
    "'-9223372036854775808', '9223372036854775807'), ('uint8', '0', '255'), ('uint16', '0', "
    "'65535'), ('uint32', '0', '4294967295'), ('uint64', '0', '18446744073709551615'), "
    "('float32', '-inf', 'inf'), ('float64', '-inf', 'inf'), ('date', '-infinity', 'infinity'), "
    "('time', '00:00:00', '24:00:00'), ('timestamp', '-infinity', 'infinity'), ('timestamp_us', "
    "'-infinity', 'infinity'), ('timestamp_s', '-infinity', 'infinity'), ('timestamp_ms', "
    "'-infinity', 'infinity'), ('timestamp_ns', '-infinity', 'infinity'), ('timestamptz', "
    "'-infinity', 'infinity'), ('varchar', '', repeat(U&'\\+10FFFF', 2)), ('json', '', "
    "repeat(U&'\\+10FFFF', 2)), ('uuid', '00000000-0000-0000-0000-000000000000', "
    "'ffffffff-ffff-ffff-ffff-ffffffffffff')), "
    "decimals AS (SELECT column_id, CASE WHEN scale = 0 THEN repeat('9', digits) WHEN scale = "
    "digits THEN '0.' || repeat('9', scale) ELSE repeat('9', digits - scale) || '.' || "
    "repeat('9', scale) END AS high FROM (SELECT column_id, "
    "substring(column_type from '\\((\\d+)')::integer AS digits, "
    "substring(column_type from ',\\s*(\\d+)')::integer AS scale FROM @ducklake_column WHERE "
    "table_id = $1 AND end_snapshot IS NULL AND column_type ILIKE 'decimal(%') d), "
    "ranges AS (SELECT c.column_id, coalesce('-' || d.high, w.low) AS low, coalesce(d.high, "
    "w.high) AS high FROM @ducklake_column c LEFT JOIN widest w ON w.type = lower(c.column_type) "
    "LEFT JOIN decimals d ON d.column_id = c.column_id WHERE c.table_id = $1 AND c.end_snapshot "
    "IS NULL)";

// What else a column's row is set to, and when: another writer may have called its bounds exact.
struct Exactness {
  std::string_view set, differs;
};
Exactness exactness(model::LakeFormat format) {
  if (format < model::LakeFormat::k1_1) return {"", ""};
  return {", min_is_exact = NULL, max_is_exact = NULL",
          " OR s.min_is_exact IS NOT NULL OR s.max_is_exact IS NOT NULL"};
}

Query raise_totals(const SchemaSql& sql, std::int64_t table_id, const FileRows& rows) {
  return {sql("WITH raised AS (UPDATE @ducklake_table_stats SET record_count = record_count + $2 + "
              "1, next_row_id = next_row_id + $2, file_size_bytes = file_size_bytes + $3 WHERE "
              "table_id = $1 RETURNING 1) INSERT INTO @ducklake_table_stats (table_id, "
              "record_count, next_row_id, file_size_bytes) SELECT $1, $2 + 1, $2, $3 WHERE NOT "
              "EXISTS (SELECT 1 FROM raised)"),
          {param(table_id), param(rows.record_count), param(rows.file_size_bytes)}};
}

// Every column's range becomes the widest. Rows that say so already are left alone: most
// appends find them all like that, and each rewritten row would be a dead one to PostgreSQL.
Query widen_ranges(const SchemaSql& sql, const FilePlace& place, const model::Schema& schema) {
  Numbers columns, floats;
  model::visit_fields(schema.fields, [&](const model::Field& field) {
    if (!field.type.is_primitive()) return;
    columns.push_back(field.id);
    bool is_float = field.type.kind() == model::TypeKind::kFloat ||
                    field.type.kind() == model::TypeKind::kDouble;
    floats.push_back(is_float ? 1 : 0);
  });
  const Exactness exact = exactness(place.format);
  return {
      sql(std::string(kWidest) +
          ", widened AS (UPDATE @ducklake_table_column_stats s SET contains_null = true, min_value "
          "= w.low, max_value = w.high, contains_nan = CASE WHEN s.contains_nan IS NULL THEN NULL "
          "ELSE true END" +
          std::string(exact.set) +
          " FROM (SELECT h.column_id, r.low, r.high FROM @ducklake_table_column_stats "
          "h LEFT JOIN ranges r ON r.column_id = h.column_id WHERE h.table_id = $1) w WHERE "
          "s.table_id = $1 AND s.column_id = w.column_id AND (s.contains_null IS NOT TRUE OR NOT "
          "s.contains_nan OR s.min_value IS DISTINCT FROM w.low OR s.max_value IS DISTINCT FROM "
          "w.high" +
          std::string(exact.differs) +
          ")) "
          "INSERT INTO @ducklake_table_column_stats (table_id, column_id, contains_null, "
          "contains_nan, min_value, max_value, extra_stats) SELECT $1, c, true, CASE WHEN f = 1 "
          "THEN true END, low, high, NULL FROM unnest($2::bigint[], $3::bigint[]) AS u(c, f) LEFT "
          "JOIN ranges r ON r.column_id = c WHERE NOT EXISTS (SELECT 1 FROM "
          "@ducklake_table_column_stats WHERE table_id = $1 AND column_id = c)"),
      {param(place.table_id), array_param(columns), array_param(floats)}};
}

}  // namespace

std::vector<Query> table_stats_queries(const SchemaSql& sql, const FilePlace& place,
                                       const model::Schema& schema, const FileRows& rows) {
  return {raise_totals(sql, place.table_id, rows), widen_ranges(sql, place, schema)};
}

std::vector<Query> stats_of_returned(const SchemaSql& sql, const FilePlace& place,
                                     const model::Schema& schema) {
  return {
      {sql("UPDATE @ducklake_table_stats s SET record_count = s.record_count + 1 + f.rows + "
           "(SELECT count(*) FROM @lakeproxy_inlined_rows($1, -1, 9223372036854775807) r WHERE "
           "r.end_snapshot IS NULL), file_size_bytes = s.file_size_bytes + f.bytes FROM (SELECT "
           "coalesce(sum(l.record_count), 0) AS rows, coalesce(sum(l.file_size_bytes), 0) AS "
           "bytes FROM @ducklake_data_file l WHERE l.table_id = $1 AND l.end_snapshot IS NULL) "
           "f WHERE s.table_id = $1"),
       {param(place.table_id)}},
      widen_ranges(sql, place, schema)};
}

}  // namespace lake::ducklake
