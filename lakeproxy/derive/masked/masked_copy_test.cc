#include "lakeproxy/derive/masked/masked_copy.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lakeproxy/engine/files/engine_fixture_test.h"
#include "lakeproxy/engine/parquet/column_ranges.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using model::Field;
using model::Type;
using model::TypeKind;

MaskedColumn column(model::FieldId id, const char* name, Type type,
                    std::optional<std::string> mask = std::nullopt) {
  return {{.id = id, .name = name, .type = std::move(type)}, std::move(mask)};
}

constexpr std::int64_t kWhole = 1 << 30;

class MaskedCopies : public ::testing::Test {
 protected:
  void write(const std::string& query, const std::string& ids) {
    std::filesystem::remove(from_);
    ASSERT_TRUE(write_file_at(from_, 0, engine_.parquet(query, ", FIELD_IDS " + ids)));
  }
  // The rows of a copy of one part, which lies at `to_`.
  base::Result<std::int64_t> copy(const MaskRules& rules, const RowOrigin& origin = {}) {
    ASSIGN_OR_RETURN(const auto parts, parts_of(rules, kWhole, origin));
    EXPECT_EQ(parts.size(), 1U);
    std::filesystem::rename(parts.front().path, to_);
    return parts.front().rows;
  }
  base::Result<std::vector<WrittenPart>> parts_of(const MaskRules& rules, std::int64_t part_bytes,
                                                  const RowOrigin& origin = {}) {
    std::filesystem::remove_all(folder_.file("parts"));
    return write_masked_copy(*engine_, from_, folder_.file("parts"), rules, origin, part_bytes,
                             kNoDeadline);
  }
  base::Result<FirstRows> first(const MaskRules& rules, FirstRowsBounds bounds,
                                const RowOrigin& origin = {}) {
    auto connection = *engine_->connect();
    auto root = read_parquet_tree(connection, from_);
    if (!root) return std::move(root).error();
    return read_first_rows(*engine_, from_, *root, rules, origin, bounds, kNoDeadline);
  }
  std::string ask(const std::string& select) {
    return engine_.ask("SELECT CAST(" + select + " AS VARCHAR) FROM read_parquet('" + to_ + "')");
  }
  // Rows of a file with the columns id (1), who (2) and amount (3).
  void write_people() {
    write(
        "SELECT * FROM (VALUES (1, 'anna', 10), (2, 'bert', 20), (3, NULL, 30), (4, 'dora', 40)) "
        "v(id, who, amount)",
        "{id: 1, who: 2, amount: 3}");
  }

  const MaskedColumn id_ = column(1, "id", Type(TypeKind::kInt));
  SampleEngine engine_;
  ScratchFolder folder_ = *ScratchFolder::make(engine_.folder());
  std::string from_ = folder_.file("from");
  std::string to_ = folder_.file("to");
};

TEST_F(MaskedCopies, filter_raw_values_before_they_mask_them) {
  write_people();
  const MaskRules rules{{id_, column(2, "who", Type(TypeKind::kString), R"(left("who", 1) || '*')"),
                         column(3, "amount", Type(TypeKind::kLong), "0")},
                        {R"("amount" > 10)", R"("who" <> 'dora' OR "who" IS NULL)"}};
  auto rows = copy(rules);
  ASSERT_TRUE(rows) << rows.error().message() << rows.error().detail();
  EXPECT_EQ(*rows, 2);
  EXPECT_EQ(ask("[id::VARCHAR, who, amount::VARCHAR]"), "[2, b*, 0]|[3, NULL, 0]");
}

TEST_F(MaskedCopies, hold_no_raw_byte_of_a_masked_column) {
  write("SELECT 'plain-' || i AS a, 'secret-' || i AS b FROM range(100) r(i)", "{a: 1, b: 2}");
  ASSERT_TRUE(copy(
      {{column(1, "a", Type(TypeKind::kString)), column(2, "b", Type(TypeKind::kString), "'***'")},
       {}}));
  EXPECT_EQ(ask("count(*) FILTER (b = '***')"), "100");
  auto connection = *engine_->connect();
  auto stats = connection.execute(
      "SELECT string_agg(concat_ws(' ', stats_min_value, stats_max_value, stats_min, stats_max), "
      "' ') FROM parquet_metadata('" +
      to_ + "') WHERE path_in_schema = 'b'");
  ASSERT_TRUE(stats && *stats->next());
  EXPECT_EQ(stats->bytes(0).find("secret"), std::string_view::npos) << stats->bytes(0);
  EXPECT_EQ(read_file(to_)->find("secret"), std::string::npos);
}

TEST_F(MaskedCopies, leave_out_what_was_deleted_and_what_the_table_has_dropped) {
  write_people();
  auto rows = copy({{id_}, {}}, {.deleted = {0, 3}});
  ASSERT_TRUE(rows) << rows.error().message() << rows.error().detail();
  EXPECT_EQ(*rows, 2);
  EXPECT_EQ(ask("id"), "2|3");
  auto connection = *engine_->connect();
  auto names = connection.execute("SELECT string_agg(name, ' ') FROM parquet_schema('" + to_ +
                                  "') WHERE field_id IS NOT NULL");
  ASSERT_TRUE(names && *names->next());
  EXPECT_EQ(names->bytes(0), "id");
}

TEST_F(MaskedCopies, find_columns_by_field_id_and_widen_them) {
  write(
      "SELECT 7 AS old_name, {'x': 1, 'y': 'b'} AS s, [1, NULL] AS l, MAP {'k': 2} AS m",
      "{old_name: 1, s: {__duckdb_field_id: 2, x: 3, y: 4}, l: {__duckdb_field_id: 5, element: 6}, "
      "m: {__duckdb_field_id: 7, key: 8, value: 9}}");
  const Type parts = Type::structure({{.id = 4, .name = "z", .type = Type(TypeKind::kString)},
                                      {.id = 3, .name = "y", .type = Type(TypeKind::kLong)},
                                      {.id = 10, .name = "n", .type = Type(TypeKind::kDate)}});
  ASSERT_TRUE(copy(
      {{column(1, "new_name", Type(TypeKind::kLong)), column(2, "s", parts),
        column(5, "l", Type::list(6, Type(TypeKind::kLong), false)),
        column(7, "m", Type::map(8, Type(TypeKind::kString), 9, Type(TypeKind::kLong), false))},
       {}}));
  EXPECT_EQ(ask("concat_ws(' ', new_name, s, l, m, typeof(s))"),
            "7 {'z': b, 'y': 1, 'n': NULL} [1, NULL] {k=2} STRUCT(z VARCHAR, y BIGINT, n DATE)");
}

TEST_F(MaskedCopies, give_missing_columns_their_default_and_mask_that_too) {
  write_people();
  MaskedColumn added = column(9, "added", Type(TypeKind::kString), R"('<' || "added" || '>')");
  added.field.initial_default = std::string("it's");
  MaskedColumn bytes = column(10, "bytes", Type(TypeKind::kBinary));
  bytes.field.initial_default = model::Bytes{"\x01\xff"};
  ASSERT_TRUE(copy({{id_, added, bytes, column(11, "none", Type(TypeKind::kDate))}, {"id = 1"}}));
  EXPECT_EQ(ask("concat_ws(' ', added, hex(bytes), none IS NULL)"), "<it's> 01FF true");
}

TEST_F(MaskedCopies, keep_the_ids_of_rows_that_are_left) {
  write_people();
  ASSERT_TRUE(
      copy({{id_}, {"id <> 1"}}, {.deleted = {1}, .first_row_id = 100, .sequence_number = 7}));
  EXPECT_EQ(ask("[id, _row_id, _last_updated_sequence_number]"), "[3, 102, 7]|[4, 103, 7]");
  // Those that stand in the file count first.
  write("SELECT 1 AS id, 55 AS \"_row_id\"", "{id: 1, _row_id: 2147483540}");
  ASSERT_TRUE(copy({{id_}, {}}, {.first_row_id = 100, .sequence_number = 7}));
  EXPECT_EQ(ask("[id, _row_id, _last_updated_sequence_number]"), "[1, 55, 7]");
}

TEST_F(MaskedCopies, are_written_where_no_row_is_left) {
  write_people();
  auto rows = copy({{id_}, {"false"}});
  ASSERT_TRUE(rows) << rows.error().message();
  EXPECT_EQ(*rows, 0);
}

TEST_F(MaskedCopies, refuse_a_mask_of_another_type_without_telling_a_value) {
  write("SELECT 'secret-value' AS a", "{a: 1}");
  auto refused = copy({{column(1, "a", Type(TypeKind::kInt), R"("a")")}, {}});
  EXPECT_EQ(kind_of(refused), ErrorKind::kCorrupt);
  EXPECT_EQ((refused.error().message() + refused.error().detail()).find("secret"),
            std::string::npos)
      << refused.error().detail();
}

TEST_F(MaskedCopies, refuse_by_name_what_the_engine_cannot_write_and_files_without_ids) {
  write_people();
  auto refused = copy({{id_, column(2, "who", Type(TypeKind::kVariant))}, {}});
  EXPECT_EQ(kind_of(refused), ErrorKind::kUnsupported);
  EXPECT_NE(refused.error().message().find("'who'"), std::string::npos)
      << refused.error().message();
  refused = copy({{column(8, "part", Type(TypeKind::kInt))}, {}}, {.path_columns = {8}});
  EXPECT_EQ(kind_of(refused), ErrorKind::kUnsupported);
  ASSERT_TRUE(write_file_at(folder_.file("bare"), 0, engine_.parquet("SELECT 1 AS id")));
  EXPECT_EQ(kind_of(write_masked_copy(*engine_, folder_.file("bare"), to_, {{id_}, {}}, {}, kWhole,
                                      kNoDeadline)),
            ErrorKind::kUnsupported);
}

TEST_F(MaskedCopies, have_a_part_for_each_so_many_bytes_in_the_order_of_the_rows) {
  write("SELECT i AS id, md5(i::VARCHAR) AS who FROM range(400000) r(i)", "{id: 1, who: 2}");
  const MaskRules rules{{column(1, "id", Type(TypeKind::kLong)),
                         column(2, "who", Type(TypeKind::kString), R"(left("who", 20))")},
                        {R"("id" % 2 = 0)"}};
  auto parts = parts_of(rules, 1 << 20);
  ASSERT_TRUE(parts) << parts.error().message() << parts.error().detail();
  ASSERT_GT(parts->size(), 1U);
  std::int64_t next = 0;
  auto connection = *engine_->connect();
  for (const WrittenPart& part : *parts) {
    auto rows = connection.execute(
        "SELECT min(id), max(id), count(*), count(*) FILTER (length(who) = 20) FROM "
        "read_parquet('" +
        part.path + "')");
    ASSERT_TRUE(rows && *rows->next());
    EXPECT_EQ(rows->int64(0), next);
    EXPECT_EQ(rows->int64(2), part.rows);
    EXPECT_EQ(rows->int64(3), part.rows);
    next = rows->int64(1) + 2;
  }
  EXPECT_EQ(next, 400000);
  // Of no row there is one part all the same: the copy is known to be made.
  auto none = parts_of({rules.columns, {"false"}}, 1 << 20);
  ASSERT_TRUE(none) << none.error().message() << none.error().detail();
  ASSERT_EQ(none->size(), 1U);
  EXPECT_EQ(none->front().rows, 0);
}

TEST_F(MaskedCopies, give_their_first_rows_as_texts) {
  write_people();
  const MaskRules rules{{id_, column(2, "who", Type(TypeKind::kString), R"(left("who", 3) || '*')"),
                         column(3, "amount", Type(TypeKind::kLong))},
                        {R"("amount" < 40)"}};
  auto rows = first(rules, {.rows = 10, .columns = 2, .characters = 3}, {.deleted = {0}});
  ASSERT_TRUE(rows) << rows.error().message() << rows.error().detail();
  using Row = std::vector<std::optional<std::string>>;
  EXPECT_EQ(rows->rows, (std::vector<Row>{{"2", "ber\u2026"}, {"3", std::nullopt}}));
  EXPECT_EQ(rows->shown, (std::vector<bool>{true, true}));
  EXPECT_TRUE(rows->is_all);
  rows = first(rules, {.rows = 2, .columns = 1, .characters = 9});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->rows, (std::vector<Row>{{"1"}, {"2"}}));
  EXPECT_FALSE(rows->is_all);
  rows = first({{id_, column(2, "who", Type(TypeKind::kVariant))}, {}},
               {.rows = 1, .columns = 2, .characters = 9});
  ASSERT_TRUE(rows) << rows.error().message();
  EXPECT_EQ(rows->rows, (std::vector<Row>{{"1", std::nullopt}}));
  EXPECT_EQ(rows->shown, (std::vector<bool>{true, false}));
  // A mask that fails tells no value.
  auto failed = first({{column(1, "id", Type(TypeKind::kInt)),
                        column(2, "who", Type(TypeKind::kString), R"(CAST("who" AS INTEGER))")},
                       {}},
                      {.rows = 1, .columns = 2, .characters = 9});
  ASSERT_FALSE(failed);
  EXPECT_FALSE((std::string(failed.error().message()) + std::string(failed.error().detail()))
                   .contains("anna"));
}

// Of a large file only the beginning is there: what lies behind is never touched.
TEST_F(MaskedCopies, give_first_rows_of_a_file_whose_later_row_groups_are_holes) {
  write("SELECT i AS id, 'v' || i AS who FROM range(30000) r(i)",
        "{id: 1, who: 2}, ROW_GROUP_SIZE 10240");
  auto connection = *engine_->connect();
  auto groups = row_groups(connection, from_, std::filesystem::file_size(from_));
  ASSERT_TRUE(groups) << groups.error().message();
  ASSERT_EQ(groups->size(), 3U);
  ASSERT_EQ(groups->front().rows, 10240);
  // But for some bytes at its beginning, which are counted to the group before, too.
  const std::uint64_t begin = groups->at(1).bytes.begin + 200;
  const auto length = static_cast<std::size_t>(groups->back().bytes.end - 200 - begin);
  ASSERT_TRUE(write_file_at(from_, begin, std::string(length, '\0')));
  const std::vector<MaskedColumn> columns = {column(1, "id", Type(TypeKind::kLong)),
                                             column(2, "who", Type(TypeKind::kString))};
  struct Case {
    std::vector<std::string> filters;
    std::vector<std::int64_t> deleted;
    std::size_t rows;
  };
  const Case cases[] = {{{}, {}, 100},
                        {{}, {0, 10239}, 100},
                        {{R"("id" >= 10190)"}, {}, 50},
                        {{R"("id" >= 10190)"}, {10190, 20000}, 49},
                        {{R"("id" > 20000)"}, {}, 0}};
  for (const Case& c : cases) {
    auto rows = first({columns, c.filters},
                      {.rows = 100, .columns = 2, .characters = 9, .looked_at = 10240},
                      {.deleted = c.deleted});
    ASSERT_TRUE(rows) << rows.error().message() << rows.error().detail();
    EXPECT_EQ(rows->rows.size(), c.rows);
    EXPECT_FALSE(rows->is_all) << "not all of it was looked at";
  }
  EXPECT_FALSE(first({columns, {R"("id" > 20000)"}}, {.rows = 1, .columns = 2, .characters = 9}))
      << "the holes are there";
}

TEST_F(MaskedCopies, do_not_let_a_mask_reach_other_files) {
  write_people();
  auto refused = copy({{column(1, "id", Type(TypeKind::kInt),
                               "(SELECT length(content) FROM read_text('/etc/hostname'))")},
                       {}});
  EXPECT_FALSE(refused);
}

}  // namespace
}  // namespace lake::exporter
