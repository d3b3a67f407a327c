#include "lakeproxy/mapping/comments.h"

#include <algorithm>

namespace lake::ducklake {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;

namespace {

// Of these columns, in place of those before; not empty.
Query put_column_comments(const SchemaSql& sql, std::int64_t table_id, std::int64_t begin,
                          const std::vector<ColumnComment>& comments) {
  std::vector<std::int64_t> columns;
  std::vector<std::optional<std::string>> texts;
  for (const ColumnComment& comment : comments) {
    columns.push_back(comment.column);
    texts.push_back(comment.text);
  }
  return {
      sql("WITH ended AS (UPDATE @ducklake_column_tag SET end_snapshot = $2 WHERE table_id = $1 "
          "AND key = 'comment' AND end_snapshot IS NULL AND column_id = ANY($3::bigint[])) "
          "INSERT INTO @ducklake_column_tag (table_id, column_id, begin_snapshot, "
          "end_snapshot, key, value) SELECT $1, c.id, $2, NULL, 'comment', c.text FROM "
          "unnest($3::bigint[], $4::text[]) AS c(id, text) WHERE c.text IS NOT NULL"),
      {param(table_id), param(begin), array_param(columns), array_param(texts)}};
}

}  // namespace

std::optional<std::string> comment_of(const std::map<std::string, std::string>& properties) {
  const auto comment = properties.find(std::string(kCommentProperty));
  if (comment == properties.end()) return std::nullopt;
  return comment->second;
}

void put_comment(const SchemaSql& sql, std::int64_t object_id, std::int64_t begin,
                 const std::optional<std::string>& comment, std::vector<Query>& out) {
  out.push_back({sql("UPDATE @ducklake_tag SET end_snapshot = $2 WHERE object_id = $1 AND key = "
                     "'comment' AND end_snapshot IS NULL"),
                 {param(object_id), param(begin)}});
  if (!comment) return;
  out.push_back({sql("INSERT INTO @ducklake_tag (object_id, begin_snapshot, end_snapshot, key, "
                     "value) VALUES ($1, $2, NULL, 'comment', $3)"),
                 {param(object_id), param(begin), param(*comment)}});
}

std::vector<ColumnComment> changed_comments(const std::vector<model::Field>& before,
                                            const std::vector<model::Field>& after) {
  std::vector<ColumnComment> changed;
  for (const model::Field& field : after) {
    const auto held = std::ranges::find(before, field.id, &model::Field::id);
    const bool same = held == before.end() ? !field.doc : held->doc == field.doc;
    if (!same) changed.push_back({field.id, field.doc});
  }
  return changed;
}

std::vector<Query> comment_rows(const SchemaSql& sql, std::int64_t table_id, std::int64_t begin,
                                const model::TableMetadata* before,
                                const model::TableMetadata& after) {
  std::vector<Query> rows;
  auto comment = comment_of(after.properties);
  if (comment != (before ? comment_of(before->properties) : std::nullopt)) {
    put_comment(sql, table_id, begin, comment, rows);
  }
  const std::vector<model::Field> none;
  const auto columns = changed_comments(before ? before->current_schema().fields : none,
                                        after.current_schema().fields);
  if (!columns.empty()) rows.push_back(put_column_comments(sql, table_id, begin, columns));
  return rows;
}

}  // namespace lake::ducklake
