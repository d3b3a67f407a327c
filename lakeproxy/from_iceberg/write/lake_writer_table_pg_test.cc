#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/from_iceberg/write/writer_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Literal;
using model::Namespace;

using TableWriter = WriterFixture;

TEST_F(TableWriter, makes_renames_and_drops_tables) {
  make_table("t");
  EXPECT_EQ(line(), "created_table:\"main\".\"t\"");
  EXPECT_EQ(head(), "(1,1,2,0)");
  auto table = load("t");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->metadata.current_schema().fields.size(), 3U);
  EXPECT_EQ(table->metadata.location, "s3://lake/data/main/t");
  EXPECT_EQ(ask("SELECT row(schema_version, begin_snapshot, table_id) FROM "
                "@ducklake_schema_versions"),
            "(1,1,1)");

  auto lake = writer();
  auto again = run(lake.create_table(soon(), {{kMain, "t"}, metadata("t", {}), {}}));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kAlreadyExists);
  auto nowhere = run(lake.create_table(soon(), {{Namespace{{"no"}}, "t"}, metadata("t", {}), {}}));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().reason(), kNoSuchNamespace);
  auto full = run(lake.drop_namespace(soon(), kMain));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason(), kNamespaceNotEmpty);

  make_table("u");
  auto taken = run(lake.rename_table(soon(), {kMain, "t"}, {kMain, "u"}));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind(), ErrorKind::kAlreadyExists);
  auto missing = run(lake.rename_table(soon(), {kMain, "no"}, {kMain, "x"}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason(), kNoSuchTable);
  ASSERT_TRUE(run(lake.rename_table(soon(), {kMain, "t"}, {kMain, "n\"ew"})));
  EXPECT_EQ(line(), "created_table:\"main\".\"n\"\"ew\"");
  EXPECT_EQ(load("t"), nullptr);
  auto renamed = load("n\"ew");
  ASSERT_NE(renamed, nullptr);
  EXPECT_EQ(renamed->table_id, table->table_id);
  EXPECT_EQ(renamed->metadata.table_uuid, table->metadata.table_uuid);
  EXPECT_EQ(renamed->metadata.schemas, table->metadata.schemas);

  auto dropped = run(lake.drop_table(soon(), {kMain, "n\"ew"}, Files::kGo));
  ASSERT_TRUE(dropped) << dropped.error().detail();
  EXPECT_EQ(ask("SELECT folder FROM @lakeproxy_purge WHERE table_id = 1 AND schema_name = 'main' "
                "AND table_name = 'n\"ew'"),
            "s3://lake/data/main/t/");
  EXPECT_EQ(line(), "dropped_table:1");
  EXPECT_EQ(load("n\"ew"), nullptr);
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_column WHERE table_id = 1 AND end_snapshot IS "
                "NULL"),
            "0");
  auto gone = run(lake.drop_table(soon(), {kMain, "t"}));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason(), kNoSuchTable);
}

TEST_F(TableWriter, appends_files_with_what_duckdb_plans_by) {
  make_table("t", model::Transform{model::TransformKind::kIdentity});
  auto before = load("t");
  ASSERT_NE(before, nullptr);
  auto inside = file("s3://lake/data/main/t/x/f.parquet", 5, 5);
  inside.file.partition = {Literal(std::int64_t{5})};
  inside.file.split_offsets = {4, 400};
  inside.file.sort_order_id = 0;
  inside.spec_id = before->metadata.default_spec_id;
  auto outside = inside;
  outside.file.file_path = "s3://other/f.parquet";
  auto done = append(before, {{model::SnapshotId(77), {inside, outside}, R"({"k":"v"})"},
                              {model::SnapshotId(78), {inside}, ""}});
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  EXPECT_EQ(done->snapshots, (std::vector{model::SnapshotId(2), model::SnapshotId(3)}));
  EXPECT_EQ(line(), "inserted_into_table:1");
  EXPECT_EQ(ask("SELECT commit_extra_info FROM @ducklake_snapshot_changes WHERE snapshot_id = 2"),
            R"({"k":"v"})");
  EXPECT_EQ(ask("SELECT string_agg(row(data_file_id, begin_snapshot, path, path_is_relative, "
                "record_count, file_size_bytes, row_id_start)::text, ' ' ORDER BY data_file_id) "
                "FROM @ducklake_data_file"),
            "(0,2,x/f.parquet,t,100,1000,0) (1,2,s3://other/f.parquet,f,100,1000,100) "
            "(2,3,x/f.parquet,t,100,1000,200)");
  EXPECT_EQ(ask("SELECT string_agg(row(column_id, column_size_bytes, value_count, null_count, "
                "min_value, max_value, contains_nan)::text, ' ' ORDER BY column_id) FROM "
                "@ducklake_file_column_stats WHERE data_file_id = 0"),
            "(1,50,90,10,5,5,) (2,,,,,z,) (3,,100,0,,,t)");
  EXPECT_EQ(ask("SELECT string_agg(partition_key_index || '=' || partition_value, ' ') FROM "
                "@ducklake_file_partition_value"),
            "0=5 0=5 0=5");
  EXPECT_EQ(ask("SELECT row(record_count, next_row_id, file_size_bytes) FROM "
                "@ducklake_table_stats"),
            "(302,300,3000)")
      << "one more for each snapshot: DuckDB must not answer a lone MIN from the bounds";
  EXPECT_EQ(ask("SELECT string_agg(row(min_value, max_value, contains_null)::text, ' ' ORDER BY "
                "column_id) FROM @ducklake_table_column_stats"),
            "(-9223372036854775808,9223372036854775807,t) (\"\",\U0010FFFF\U0010FFFF,t) "
            "(-inf,inf,t)");
  EXPECT_EQ(ask("SELECT row(spec_id, partition, split_offsets) FROM @lakeproxy_file WHERE "
                "data_file_id = 0"),
            "(0,[5],\"{4,400}\")");
  EXPECT_EQ(ask("SELECT sum(nan_count) FROM @lakeproxy_nan_count"), "21");
  EXPECT_EQ(ask("SELECT string_agg(client_snapshot_id || '=' || snapshot_id, ' ') FROM "
                "@lakeproxy_snapshot_alias"),
            "77=2 78=3");
  auto after = load("t");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->pending, done->snapshots);
  EXPECT_EQ(after->aliases.at(78), model::SnapshotId(3));
}

TEST_F(TableWriter, makes_unknown_what_duckdb_would_answer_from) {
  make_table("t");
  exec("INSERT INTO ducklake_table_column_stats VALUES (1, 1, false, NULL, '1', '9', NULL)");
  ASSERT_TRUE(append(load("t"), {{model::SnapshotId(5), {file("s3://lake/data/f", 50, 60)}, ""}}));
  EXPECT_EQ(ask("SELECT row(contains_null, min_value, max_value) FROM "
                "@ducklake_table_column_stats WHERE column_id = 1"),
            "(t,-9223372036854775808,9223372036854775807)")
      << "with two NULLs DuckDB would take the bounds of its next file for the table's";
}

TEST_F(TableWriter, an_unknown_range_is_the_widest_of_the_lakes_type) {
  make_table("t");
  std::int64_t client_id = 5;
  for (auto [type, range] :
       {std::pair("int8", "-128 to 127"), std::pair("uint16", "0 to 65535"),
        std::pair("decimal(9,2)", "-9999999.99 to 9999999.99"),
        std::pair("decimal(3,3)", "-0.999 to 0.999"), std::pair("decimal(4,0)", "-9999 to 9999"),
        std::pair("date", "-infinity to infinity"), std::pair("blob", "unknown")}) {
    auto table = load("t");
    exec(fmt::format("UPDATE ducklake_column SET column_type = '{}' WHERE column_id = 1", type));
    ASSERT_TRUE(
        append(table, {{model::SnapshotId(++client_id), {file("s3://lake/data/f", 50, 60)}, ""}}));
    EXPECT_EQ(ask("SELECT coalesce(min_value || ' to ' || max_value, 'unknown') FROM "
                  "@ducklake_table_column_stats WHERE column_id = 1"),
              range)
        << type;
    exec("UPDATE ducklake_column SET column_type = 'int64' WHERE column_id = 1");
  }
}

TEST_F(TableWriter, refuses_files_that_it_cannot_show) {
  make_table("t", model::Transform{model::TransformKind::kIdentity});
  auto before = load("t");
  ASSERT_NE(before, nullptr);
  struct {
    const char* name;
    void (*spoil)(AddedFile&);
    ErrorKind kind;
  } cases[] = {
      {"deletes", [](AddedFile& f) { f.file.content = model::FileContent::kPositionDeletes; },
       ErrorKind::kUnsupported},
      {"orc", [](AddedFile& f) { f.file.file_format = model::FileFormat::kOrc; },
       ErrorKind::kUnsupported},
      {"negative_count", [](AddedFile& f) { f.file.record_count = -1; }, ErrorKind::kInvalid},
      {"negative_size", [](AddedFile& f) { f.file.file_size_in_bytes = -1; }, ErrorKind::kInvalid},
      {"no_such_spec", [](AddedFile& f) { f.spec_id = 9; }, ErrorKind::kInvalid},
      {"no_tuple", [](AddedFile& f) { f.file.partition.clear(); }, ErrorKind::kInvalid},
      {"another_type", [](AddedFile& f) { f.file.partition = {Literal(std::string("5"))}; },
       ErrorKind::kInvalid},
  };
  for (const auto& c : cases) {
    auto bad = file("s3://lake/data/f", 5, 5);
    bad.file.partition = {Literal(std::int64_t{5})};
    c.spoil(bad);
    auto done = append(before, {{model::SnapshotId(5), {bad}, ""}});
    ASSERT_FALSE(done) << c.name;
    EXPECT_EQ(done.error().kind(), c.kind) << c.name;
  }
  auto large = file("s3://lake/data/f", 5, 5);
  large.file.partition = {std::nullopt};
  large.file.record_count = std::numeric_limits<std::int64_t>::max();
  auto done = append(before, {{model::SnapshotId(5), {large, large}, ""}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(head(), "(1,1,3,0)") << "nothing was written";
}

}  // namespace
}  // namespace lake::ducklake
