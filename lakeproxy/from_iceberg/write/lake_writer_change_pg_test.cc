#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/from_iceberg/write/writer_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Type;
using model::TypeKind;

using DefinitionWriter = WriterFixture;

TEST_F(DefinitionWriter, a_schema_change_ends_and_begins_columns) {
  make_table("t");
  exec(
      "CREATE TABLE ducklake_inlined_data_1_1 (row_id bigint, begin_snapshot bigint, end_snapshot "
      "bigint, i bigint, s bytea, f double precision); "
      "INSERT INTO ducklake_inlined_data_tables VALUES (1, 'ducklake_inlined_data_1_1', 1); "
      "UPDATE ducklake_column SET initial_default = '4', default_value = '5' WHERE column_id = 1; "
      "INSERT INTO ducklake_column_tag VALUES (1, 1, 1, NULL, 'comment', 'of i'), (1, 3, 1, NULL, "
      "'comment', 'of f')");
  auto before = load("t");
  ASSERT_NE(before, nullptr);
  TableChange wanted{before, before->metadata, {}};
  model::Schema schema = wanted.after.current_schema();
  schema.fields[0].name = "renamed";
  schema.fields.erase(schema.fields.begin() + 2);
  schema.fields.push_back({.id = 4, .name = "n", .type = Type(TypeKind::kDate)});
  auto id = model::add_schema(wanted.after, schema, model::SchemaCheck::kEvolution);
  ASSERT_TRUE(id) << id.error().message();
  ASSERT_TRUE(model::set_current_schema(wanted.after, *id));
  wanted.snapshots = {{model::SnapshotId(5), {file("s3://lake/data/main/t/f", 1, 2)}, ""}};
  auto done = change(wanted);
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();

  EXPECT_EQ(line(), "altered_table:1,inserted_into_table:1");
  EXPECT_EQ(head(), "(2,2,2,1)");
  EXPECT_EQ(ask("SELECT string_agg(row(column_id, begin_snapshot, end_snapshot, column_name, "
                "initial_default, default_value)::text, ' ' ORDER BY column_id, begin_snapshot) "
                "FROM @ducklake_column"),
            "(1,1,2,i,4,5) (1,2,,renamed,4,5) (2,1,,s,,NULL) (3,1,2,f,,NULL) (4,2,,n,,NULL)");
  EXPECT_EQ(ask("SELECT string_agg(value || ':' || coalesce(end_snapshot::text, ''), ' ' ORDER BY "
                "column_id) FROM @ducklake_column_tag"),
            "of i: of f:2")
      << "of the column that was dropped alone";
  EXPECT_EQ(ask("SELECT max(schema_version) FROM @ducklake_schema_versions WHERE table_id = 1 AND "
                "begin_snapshot = 2"),
            "2");
  const auto own = [&](const std::string& name) {
    return (version() == "1.1" ? "_ducklake_" : "") + name + " bigint, ";
  };
  EXPECT_EQ(ask("SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY "
                "ordinal_position) FROM information_schema.columns WHERE table_name = "
                "'ducklake_inlined_data_1_2'"),
            own("row_id") + own("begin_snapshot") + own("end_snapshot") +
                "renamed bigint, s bytea, n character varying");
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_inlined_data_tables WHERE schema_version = 2"),
            "1");
}

const std::vector<model::PartitionField>& default_fields(const model::LakeTable& table) {
  return table.metadata.find_spec(table.metadata.default_spec_id)->fields;
}

TEST_F(DefinitionWriter, a_spec_that_the_lake_cannot_hold_gives_way_to_none_and_comes_back) {
  make_table("t");
  auto with = [&](std::vector<model::PartitionField> fields) {
    auto before = load("t");
    TableChange wanted{before, before->metadata, {}};
    auto id = model::add_spec(wanted.after, model::PartitionSpec{.fields = std::move(fields)});
    EXPECT_TRUE(id) << id.error().message();
    EXPECT_TRUE(model::set_default_spec(wanted.after, *id));
    return change(wanted);
  };
  const auto truncate = model::parse_transform("truncate[2]");
  const auto bucket = model::parse_transform("bucket[2]");
  using Fields = std::vector<model::PartitionField>;
  ASSERT_TRUE(with({}));
  const std::int32_t none = load("t")->metadata.default_spec_id;
  for (const Fields& fields :
       {Fields{{1, 0, "cut", truncate}}, Fields{{1, 0, "cut", truncate}, {1, 0, "b", bucket}}}) {
    ASSERT_TRUE(with(fields));
    EXPECT_EQ(default_fields(*load("t")).size(), fields.size());
    ASSERT_TRUE(with({}));
    EXPECT_EQ(load("t")->metadata.default_spec_id, none);
    EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_partition_info WHERE end_snapshot IS NULL"), "0");
  }
  // Its sidecar row says so, beside no partition of the lake.
  ASSERT_TRUE(with({{1, 0, "cut", truncate}}));
  EXPECT_EQ(default_fields(*load("t")).size(), 1);
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_partition_info WHERE end_snapshot IS NULL"), "0");
}

// Such a change makes no snapshot, so that all of these schemas begin at the same one.
TEST_F(DefinitionWriter, identifier_fields_come_and_go_without_a_change_of_columns) {
  make_table("t");
  exec(
      "UPDATE ducklake_column SET nulls_allowed = false WHERE column_id = 1; "
      "UPDATE lakeproxy_definition SET body = jsonb_set(body::jsonb, '{fields,0,required}', "
      "'true') "
      "WHERE kind = 'schema'");
  for (const std::vector<model::FieldId>& ids : {std::vector{1}, {}, {1}, {}}) {
    auto before = load("t");
    ASSERT_NE(before, nullptr);
    TableChange wanted{before, before->metadata, {}};
    model::Schema schema = before->metadata.current_schema();
    schema.identifier_field_ids = ids;
    auto id = model::add_schema(wanted.after, schema, model::SchemaCheck::kEvolution);
    ASSERT_TRUE(id) << id.error().message();
    ASSERT_TRUE(model::set_current_schema(wanted.after, *id));
    auto done = change(wanted);
    ASSERT_TRUE(done) << done.error().message() << done.error().detail();
    EXPECT_EQ(load("t")->metadata.current_schema().identifier_field_ids, ids);
  }
}

TEST_F(DefinitionWriter,
       a_clients_spec_of_an_unpartitioned_table_is_1_and_is_stored_by_its_commit) {
  make_table("t");
  auto before = load("t");
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->metadata.default_spec_id, 0);
  TableChange wanted{before, before->metadata, {}};
  const auto identity = model::parse_transform("identity");
  auto id = model::add_spec(wanted.after, model::PartitionSpec{.fields = {{1, 0, "i", identity}}});
  ASSERT_TRUE(id) << id.error().message();
  EXPECT_EQ(*id, 1);
  ASSERT_TRUE(model::set_default_spec(wanted.after, *id));
  ASSERT_TRUE(change(wanted));
  const char* uses =
      "SELECT string_agg(row(kind, key, id)::text, ' ' ORDER BY kind, key) FROM "
      "@lakeproxy_definition_use WHERE kind IN ('default', 'partition')";
  const std::string stored = ask(uses);
  EXPECT_EQ(stored, "(default,1,0) (default,2,1) (partition,2,1)");
  const auto after = load("t");
  EXPECT_EQ(after->metadata.default_spec_id, 1);
  EXPECT_EQ(after->unpartitioned_spec_id, 0);
  EXPECT_EQ(ask(uses), stored) << "a load has nothing to add";
}

// A load of another server has given the id to what DuckDB made.
TEST_F(DefinitionWriter, an_id_that_was_given_meanwhile_is_not_given_by_a_commit) {
  make_table("t");
  auto before = load("t");
  ASSERT_NE(before, nullptr);
  TableChange wanted{before, before->metadata, {}};
  model::Schema schema = wanted.after.current_schema();
  schema.fields.push_back({.id = 4, .name = "n", .type = Type(TypeKind::kDate)});
  auto id = model::add_schema(wanted.after, schema, model::SchemaCheck::kEvolution);
  ASSERT_TRUE(id) << id.error().message();
  ASSERT_TRUE(model::set_current_schema(wanted.after, *id));
  snapshot(2, "altered_table:1",
           "INSERT INTO ducklake_column VALUES (5, 2, NULL, 1, 5, 'duckdbs', 'int32', NULL, "
           "'NULL', true, NULL, 'literal', 'duckdb')");
  EXPECT_EQ(load("t")->metadata.current_schema_id, *id);
  auto done = change(wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().reason(), kStale);
  // Also where the lake's log tells nothing.
  before = load("t");
  wanted = {before, before->metadata, {}};
  schema = wanted.after.current_schema();
  schema.fields.push_back({.id = 6, .name = "m", .type = Type(TypeKind::kDate)});
  id = model::add_schema(wanted.after, schema, model::SchemaCheck::kEvolution);
  ASSERT_TRUE(id) << id.error().message();
  exec(
      fmt::format("INSERT INTO lakeproxy_definition SELECT table_id, kind, {}, body FROM "
                  "lakeproxy_definition WHERE kind = 'schema' AND id = 0",
                  *id));
  ASSERT_TRUE(model::set_current_schema(wanted.after, *id));
  done = change(wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().reason(), kStale);
  EXPECT_EQ(load("t")->metadata.find_schema(*id)->fields.size(), 3) << "it means what it meant";
}

}  // namespace
}  // namespace lake::ducklake
