#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <limits>

#include "base/runtime/gather.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/ducklake/write/lake_writer.h"
#include "lakeproxy/materialize/value/single_value.h"
#include "lakeproxy/model/change/metadata_change.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::Result;
using base::Task;
using model::Literal;
using model::Namespace;
using model::TableIdentifier;
using model::Type;
using model::TypeKind;

const Namespace kMain{{"main"}};

class Writer : public LakeFixture {
 protected:
  void SetUp() override { open(); }

  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }

  /// The first column of the first row of a query in the lake's schema.
  std::string ask(std::string sql) {
    for (std::size_t at = 0; (at = sql.find('@', at)) != std::string::npos;) {
      sql.replace(at, 1, options_.metadata_schema + ".");
    }
    return text("SELECT (" + sql + ")::text");
  }
  std::string line() {
    return ask(
        "SELECT changes_made FROM @ducklake_snapshot_changes ORDER BY snapshot_id DESC "
        "LIMIT 1");
  }
  std::string head() {
    return ask(
        "SELECT row(snapshot_id, schema_version, next_catalog_id, next_file_id) FROM "
        "@ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1");
  }

  model::TableMetadata metadata(const char* name, std::optional<model::Transform> transform) {
    model::CreateTable request{.name = name};
    request.schema.fields = {{.id = 1, .name = "i", .type = Type(TypeKind::kLong)},
                             {.id = 2, .name = "s", .type = Type(TypeKind::kString)},
                             {.id = 3, .name = "f", .type = Type(TypeKind::kDouble)}};
    if (transform) request.spec = model::PartitionSpec{.fields = {{1, 1000, "p", *transform}}};
    auto made = model::new_table(request, {.uuid = base::make_uuid_v4(random_),
                                           .location = std::string("s3://lake/data/main/") + name,
                                           .now_ms = 1});
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  void make_table(const char* name, std::optional<model::Transform> transform = std::nullopt) {
    auto lake = writer();
    auto made =
        run(lake.create_table(soon(), {{kMain, name}, metadata(name, std::move(transform)), {}}));
    ASSERT_TRUE(made) << made.error().message() << made.error().detail();
  }
  std::shared_ptr<const model::LakeTable> load(const char* name) {
    LakeReader reader(*pool_, options_);
    auto id = run(reader.find_table(soon(), {kMain, name}));
    if (!id) return nullptr;
    auto table = run(reader.load_table(soon(), *id));
    EXPECT_TRUE(table) << table.error().message() << table.error().detail();
    return table ? std::make_shared<const model::LakeTable>(std::move(*table)) : nullptr;
  }
  static AddedFile file(const std::string& path, std::int64_t low, std::int64_t high) {
    AddedFile added;
    added.file.file_path = path;
    added.file.record_count = 100;
    added.file.file_size_in_bytes = 1000;
    added.file.metrics[1] = {.column_size = 50,
                             .value_count = 100,
                             .null_count = 10,
                             .lower_bound = materialize::encode_single_value(Literal(low)),
                             .upper_bound = materialize::encode_single_value(Literal(high))};
    added.file.metrics[2] = {.lower_bound = std::string("a\0", 2), .upper_bound = "z"};
    added.file.metrics[3] = {.value_count = 100, .null_count = 0, .nan_count = 7};
    return added;
  }
  Result<ChangedTable> change(TableChange change) {
    auto lake = writer();
    return run(lake.change_table(soon(), std::move(change)));
  }
  Result<ChangedTable> append(const std::shared_ptr<const model::LakeTable>& before,
                              std::vector<AddedSnapshot> snapshots) {
    return change({before, before->metadata, std::move(snapshots)});
  }

  Task<Result<int>> append_many(int writer_id, int commits);
  Task<Result<int>> foreign_many(int commits);
  Task<Result<Committed>> hold_next_snapshot();
  Task<Result<Committed>> commit_once_held(std::shared_ptr<const model::LakeTable> before);

  base::SystemClock clock_;
  base::SystemRandom random_;
  bool held_ = false;
};

TEST_F(Writer, makes_and_drops_namespaces) {
  auto lake = writer();
  ASSERT_TRUE(run(lake.create_namespace(soon(), Namespace{{"a"}}, {{"k", "v"}})));
  EXPECT_EQ(line(), "created_schema:\"a\"");
  EXPECT_EQ(head(), "(1,1,2,0)");
  ASSERT_TRUE(run(lake.create_namespace(soon(), Namespace{{"a", "q\"x"}}, {})));

  auto again = run(lake.create_namespace(soon(), Namespace{{"a"}}, {}));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kAlreadyExists);
  auto orphan = run(lake.create_namespace(soon(), Namespace{{"no", "x"}}, {}));
  ASSERT_FALSE(orphan);
  EXPECT_EQ(orphan.error().reason(), kNoSuchNamespace);
  auto missing = run(lake.drop_namespace(soon(), Namespace{{"no"}}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason(), kNoSuchNamespace);
  auto full = run(lake.drop_namespace(soon(), Namespace{{"a"}}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason(), kNamespaceNotEmpty);
  ASSERT_TRUE(run(lake.drop_namespace(soon(), Namespace{{"a", "q\"x"}})));
  ASSERT_TRUE(run(lake.drop_namespace(soon(), Namespace{{"a"}})));
  EXPECT_EQ(line(), "dropped_schema:1");
  EXPECT_EQ(head(), "(4,4,3,0)");
  EXPECT_TRUE(run(lake.create_namespace(soon(), Namespace{{"a"}}, {}))) << "the name is free";
}

TEST_F(Writer, a_name_is_free_again_after_duckdb_dropped_its_schema) {
  auto lake = writer();
  for (const char* value : {"old", "new"}) {
    ASSERT_TRUE(run(lake.create_namespace(soon(), Namespace{{"a"}}, {{"k", value}}))) << value;
    auto changed = run(lake.change_namespace(soon(), Namespace{{"a"}}, {}, {{"also", value}}));
    ASSERT_TRUE(changed) << changed.error().message();
    EXPECT_EQ(ask("SELECT (properties->>'k') || (properties->>'also') FROM @lakeproxy_namespace"),
              std::string(value) + value);
    exec("UPDATE ducklake_schema SET end_snapshot = begin_snapshot + 1 WHERE schema_name = 'a'");
  }
}

TEST_F(Writer, changes_properties_without_a_lake_snapshot) {
  auto lake = writer();
  auto changed = run(lake.change_namespace(soon(), kMain, {"x"}, {{"a", "1"}, {"b", "2"}}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->updated, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(changed->missing, std::vector<std::string>{"x"});
  changed = run(lake.change_namespace(soon(), kMain, {"a"}, {}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->removed, std::vector<std::string>{"a"});
  EXPECT_EQ(head(), "(0,0,1,0)");
  auto missing = run(lake.change_namespace(soon(), Namespace{{"no"}}, {}, {}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason(), kNoSuchNamespace);
}

TEST_F(Writer, makes_renames_and_drops_tables) {
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

TEST_F(Writer, appends_files_with_what_duckdb_plans_by) {
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

TEST_F(Writer, makes_unknown_what_duckdb_would_answer_from) {
  make_table("t");
  exec("INSERT INTO ducklake_table_column_stats VALUES (1, 1, false, NULL, '1', '9', NULL)");
  ASSERT_TRUE(append(load("t"), {{model::SnapshotId(5), {file("s3://lake/data/f", 50, 60)}, ""}}));
  EXPECT_EQ(ask("SELECT row(contains_null, min_value, max_value) FROM "
                "@ducklake_table_column_stats WHERE column_id = 1"),
            "(t,-9223372036854775808,9223372036854775807)")
      << "with two NULLs DuckDB would take the bounds of its next file for the table's";
}

TEST_F(Writer, an_unknown_range_is_the_widest_of_the_lakes_type) {
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

TEST_F(Writer, refuses_files_that_it_cannot_show) {
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

TEST_F(Writer, a_schema_change_ends_and_begins_columns) {
  make_table("t");
  exec(
      "CREATE TABLE ducklake_inlined_data_1_1 (row_id bigint, begin_snapshot bigint, end_snapshot "
      "bigint, i bigint, s bytea, f double precision); "
      "INSERT INTO ducklake_inlined_data_tables VALUES (1, 'ducklake_inlined_data_1_1', 1); "
      "UPDATE ducklake_column SET initial_default = '4', default_value = '5' WHERE column_id = 1");
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
  EXPECT_EQ(ask("SELECT max(schema_version) FROM @ducklake_schema_versions WHERE table_id = 1 AND "
                "begin_snapshot = 2"),
            "2");
  EXPECT_EQ(ask("SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY "
                "ordinal_position) FROM information_schema.columns WHERE table_name = "
                "'ducklake_inlined_data_1_2'"),
            "row_id bigint, begin_snapshot bigint, end_snapshot bigint, renamed bigint, s bytea, n "
            "character varying");
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_inlined_data_tables WHERE schema_version = 2"),
            "1");
}

const std::vector<model::PartitionField>& default_fields(const model::LakeTable& table) {
  return table.metadata.find_spec(table.metadata.default_spec_id)->fields;
}

TEST_F(Writer, a_spec_that_the_lake_cannot_hold_gives_way_to_none) {
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
  auto back = with({{1, 0, "cut", truncate}});
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(load("t")->metadata.default_spec_id, none);
}

// Such a change makes no snapshot, so that all of these schemas begin at the same one.
TEST_F(Writer, identifier_fields_come_and_go_without_a_change_of_columns) {
  make_table("t");
  exec(
      "UPDATE ducklake_column SET nulls_allowed = false WHERE column_id = 1; "
      "UPDATE lakeproxy_schema SET schema_json = jsonb_set(schema_json, '{fields,0,required}', "
      "'true')");
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

TEST_F(Writer, a_change_of_a_table_that_has_changed_is_stale) {
  make_table("t");
  make_table("u");
  auto before = load("t");
  ASSERT_NE(before, nullptr);
  std::vector<AddedSnapshot> one{{model::SnapshotId(5), {file("s3://lake/data/f", 1, 2)}, ""}};
  ASSERT_TRUE(append(load("u"), one)) << "another table does not matter";
  ASSERT_TRUE(append(before, one));
  const auto expect_stale = [&](const std::shared_ptr<const model::LakeTable>& read) {
    auto done = append(read, {{model::SnapshotId(6), {file("s3://lake/data/g", 1, 2)}, ""}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind(), ErrorKind::kConflict);
    EXPECT_EQ(done.error().reason(), kStale);
  };
  expect_stale(before);
  auto lake = writer();
  before = load("t");
  ASSERT_TRUE(run(lake.rename_table(soon(), {kMain, "t"}, {kMain, "x"})));
  expect_stale(before);
  ASSERT_TRUE(run(lake.rename_table(soon(), {kMain, "x"}, {kMain, "t"})));
  before = load("t");
  TableChange properties{before, before->metadata, {}};
  properties.after.properties["a"] = "b";
  auto changed = change(properties);
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->snapshots.empty());
  expect_stale(before);
  before = load("t");
  ASSERT_TRUE(run(lake.drop_table(soon(), {kMain, "t"})));
  expect_stale(before);
}

// Holds the next snapshot id in an open transaction until another commit waits
// for it, then commits.
Task<Result<Committed>> Writer::hold_next_snapshot() {
  auto pool = make_pool();
  auto watcher = make_pool();
  CO_ASSIGN_OR_RETURN(
      auto held,
      co_await pool->begin(
          soon(),
          {{{"INSERT INTO lk.ducklake_snapshot SELECT 2, now(), schema_version, next_catalog_id, "
             "next_file_id FROM lk.ducklake_snapshot WHERE snapshot_id = 1"},
            {}},
           {{"INSERT INTO lk.ducklake_snapshot_changes VALUES (2, 'inserted_into_table:99')"},
            {}}}));
  held_ = true;
  for (bool waits = false; !waits;) {
    CO_ASSIGN_OR_RETURN(
        auto rows,
        co_await watcher->query(soon(), {{"SELECT count(*) FROM pg_locks WHERE NOT granted"}, {}}));
    waits = rows->int64(0, 0) > 0;
  }
  CO_RETURN_IF_ERROR(co_await held.transaction->run_and_commit({}));
  co_return Committed{};
}

Task<Result<Committed>> Writer::commit_once_held(std::shared_ptr<const model::LakeTable> before) {
  while (!held_) co_await boost::asio::post(loop_, boost::asio::use_awaitable);
  LakeWriter lake = writer();
  std::vector<AddedSnapshot> one{{model::SnapshotId(5), {file("s3://lake/data/f", 1, 2)}, ""}};
  co_return co_await lake.change_table(soon(),
                                       TableChange{before, before->metadata, std::move(one)});
}

TEST_F(Writer, takes_the_next_snapshot_when_another_writer_took_this_one) {
  make_table("t");
  std::vector<Task<Result<Committed>>> tasks;
  tasks.push_back(hold_next_snapshot());
  tasks.push_back(commit_once_held(load("t")));
  auto results = run(base::gather(std::move(tasks)));
  ASSERT_TRUE(results[0]) << results[0].error().detail();
  const auto& done = results[1];
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  EXPECT_EQ(done->snapshots, std::vector{model::SnapshotId(3)});
  EXPECT_EQ(ask("SELECT begin_snapshot FROM @ducklake_data_file"), "3");
}

Task<Result<int>> Writer::append_many(int writer_id, int commits) {
  auto pool = make_pool();
  LakeWriter lake(*pool, options_, clock_, random_);
  LakeReader reader(*pool, options_);
  int stale = 0;
  for (int i = 0; i < commits;) {
    CO_ASSIGN_OR_RETURN(auto table, co_await reader.load_table(soon(), model::TableId(1)));
    auto before = std::make_shared<const model::LakeTable>(std::move(table));
    std::string path = fmt::format("s3://lake/data/main/t/w{}-{}", writer_id, i);
    std::vector<AddedSnapshot> one{
        {model::SnapshotId(writer_id * 1000 + i), {file(path, 1, 2)}, ""}};
    auto done =
        co_await lake.change_table(soon(), TableChange{before, before->metadata, std::move(one)});
    if (!done && done.error().reason() != kStale) co_return std::move(done).error();
    done ? ++i : ++stale;
  }
  co_return stale;
}

// As DuckDB commits: without our lock, again after a collision.
Task<Result<int>> Writer::foreign_many(int commits) {
  auto pool = make_pool();
  int collisions = 0;
  for (int i = 0; i < commits;) {
    auto done = co_await pool->query(
        soon(), {{"WITH made AS (INSERT INTO lk.ducklake_snapshot SELECT snapshot_id + 1, now(), "
                  "schema_version, next_catalog_id, next_file_id FROM lk.ducklake_snapshot ORDER "
                  "BY snapshot_id DESC LIMIT 1 RETURNING snapshot_id) INSERT INTO "
                  "lk.ducklake_snapshot_changes SELECT snapshot_id, 'inserted_into_table:99' FROM "
                  "made"},
                 {}});
    if (!done && done.error().kind() != ErrorKind::kConflict) co_return std::move(done).error();
    done ? ++i : ++collisions;
  }
  co_return collisions;
}

TEST_F(Writer, every_commit_of_several_writers_is_there_exactly_once) {
  constexpr int kWriters = 4, kCommits = 15, kForeign = 40;
  make_table("t");
  std::vector<Task<Result<int>>> tasks;
  for (int i = 1; i <= kWriters; ++i) tasks.push_back(append_many(i, kCommits));
  tasks.push_back(foreign_many(kForeign));
  auto results = run(base::gather(std::move(tasks)));
  for (const auto& result : results) {
    ASSERT_TRUE(result) << result.error().message() << result.error().detail();
  }
  EXPECT_EQ(ask("SELECT count(DISTINCT path) || ' of ' || count(*) FROM @ducklake_data_file"),
            fmt::format("{0} of {0}", kWriters * kCommits));
  EXPECT_EQ(ask("SELECT max(snapshot_id) || ' of ' || count(*) FROM @ducklake_snapshot"),
            fmt::format("{} of {}", kWriters * kCommits + kForeign + 1,
                        kWriters * kCommits + kForeign + 2));
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_data_file a JOIN @ducklake_data_file b ON "
                "a.data_file_id < b.data_file_id AND a.row_id_start = b.row_id_start"),
            "0");
  EXPECT_EQ(ask("SELECT row(record_count, next_row_id) FROM @ducklake_table_stats"),
            fmt::format("({},{})", kWriters * kCommits * 101, kWriters * kCommits * 100));
  EXPECT_EQ(ask("SELECT next_file_id FROM @ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"),
            std::to_string(kWriters * kCommits));
}

}  // namespace
}  // namespace lake::ducklake
