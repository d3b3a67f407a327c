#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/runtime/gather.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/from_iceberg/write/known_table.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/from_iceberg/write/record_fixture_test.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::ducklake {
namespace {

using model::Literal;
using model::SnapshotId;
using model::Transform;
using model::TransformKind;
using model::Type;
using model::TypeKind;
using LakeTablePtr = std::shared_ptr<const model::LakeTable>;

const model::TableIdentifier kTable{model::Namespace{{"main"}}, "t"};

class Appends : public RecordFixture {
 protected:
  void SetUp() override { open(); }

  void make_table(const std::optional<Transform>& transform) {
    model::CreateTable request{.name = "t"};
    request.schema.fields = {{.id = 1, .name = "i", .type = Type(TypeKind::kLong)},
                             {.id = 2, .name = "d", .type = Type(TypeKind::kDouble)},
                             {.id = 3, .name = "s", .type = Type(TypeKind::kString)},
                             {.id = 4, .name = "at", .type = Type(TypeKind::kTimestamp)}};
    if (transform) request.spec = model::PartitionSpec{.fields = {{4, 1000, "p", *transform}}};
    auto made = model::new_table(
        request,
        {.uuid = base::make_uuid_v4(random_), .location = "s3://lake/data/main/t", .now_ms = 1});
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_TRUE(run(writer().create_table(soon(), {kTable, *made, {}})));
  }
  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }
  LakeTablePtr load() {
    LakeReader reader(*pool_, options_);
    auto table = run(reader.load_table(soon(), *run(reader.find_table(soon(), kTable))));
    EXPECT_TRUE(table) << table.error().message();
    return std::make_shared<const model::LakeTable>(std::move(*table));
  }
  model::LakeChanges changes(const LakeTablePtr& table) {
    LakeReader reader(*pool_, options_);
    auto found = run(reader.read_changes(soon(), table.get(), std::nullopt, table->pending.back()));
    EXPECT_TRUE(found) << found.error().message();
    return std::move(*found);
  }
  base::Result<ChangedTable> append(const LakeTablePtr& before,
                                    std::vector<AddedSnapshot> snapshots) {
    return run(writer().change_table(soon(), {before, before->metadata, std::move(snapshots)}));
  }
  void expect_as_read(const KnownTable& known) {
    const LakeTablePtr read = load();
    EXPECT_EQ(known.table.version, read->version);
    EXPECT_EQ(known.table.pending, read->pending);
    EXPECT_EQ(known.table.aliases, read->aliases);
    EXPECT_EQ(known.table.metadata.next_row_id, read->metadata.next_row_id);
    EXPECT_EQ(model::write_metadata(known.table.metadata), model::write_metadata(read->metadata));
    const model::LakeChanges found = changes(read);
    EXPECT_EQ(known.changes.after, found.after);
    EXPECT_EQ(known.changes.up_to, found.up_to);
    EXPECT_EQ(known.changes.commits, found.commits);
    EXPECT_EQ(known.changes.data_files, found.data_files);
    EXPECT_TRUE(found.delete_files.empty() && found.inlined.empty());
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
};

AddedFile added(const char* path) {
  AddedFile added;
  added.file.file_path = path;
  added.file.record_count = 100;
  added.file.file_size_in_bytes = 1000;
  return added;
}

// What clients say of a file, from nothing to everything and beyond.
std::vector<AddedFile> many_kinds(const std::optional<Literal>& partition) {
  auto plain = added("s3://lake/data/main/t/plain.parquet");
  auto full = added("s3://elsewhere/full.parquet");
  full.file.metrics[1] = {
      .column_size = 50,
      .value_count = 100,
      .null_count = 10,
      .lower_bound = materialize::encode_single_value(Literal(std::int64_t{-3})),
      .upper_bound = materialize::encode_single_value(Literal(std::int64_t{9}))};
  full.file.metrics[2] = {.value_count = 100,
                          .null_count = 0,
                          .nan_count = 7,
                          .lower_bound = materialize::encode_single_value(Literal(-0.5)),
                          .upper_bound = materialize::encode_single_value(Literal(1e300))};
  full.file.metrics[3] = {.lower_bound = std::string("a\0", 2), .upper_bound = "\"q\\{},"};
  full.file.split_offsets = {4, 400};
  full.file.sort_order_id = 0;
  full.file.key_metadata = std::string("\0\xffk", 3);
  auto odd = added("s3://lake/data/main/t/deep/\"odd\", {name}.parquet");
  odd.file.metrics[1] = {.column_size = -1, .value_count = 1, .null_count = 2};
  odd.file.metrics[2] = {.nan_count = 0};
  odd.file.metrics[99] = {.value_count = 1};
  odd.file.key_metadata = "";
  std::vector<AddedFile> files{plain, full, odd};
  for (AddedFile& file : files) file.file.partition = {partition};
  return files;
}

TEST_F(Appends, are_known_as_a_reader_finds_them) {
  struct {
    const char* name;
    std::optional<Transform> transform;
    std::vector<std::optional<Literal>> partitions;
  } cases[] = {
      {"unpartitioned", std::nullopt, {}},
      {"identity", Transform{TransformKind::kIdentity}, {std::nullopt, Literal(std::int64_t{7})}},
      {"day", Transform{TransformKind::kDay}, {Literal(std::int32_t{-1})}},
      {"bucket", Transform{TransformKind::kBucket, 8}, {Literal(std::int32_t{3})}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    make_table(c.transform);
    auto partitions = c.partitions;
    if (partitions.empty()) partitions.emplace_back();
    for (const auto& partition : partitions) {
      auto before = load();
      auto files = many_kinds(partition);
      for (AddedFile& file : files) {
        file.spec_id = before->metadata.default_spec_id;
        if (!c.transform) file.file.partition.clear();
      }
      auto done = append(
          before, {{SnapshotId(77), files, R"({"k":"v"})"}, {SnapshotId(78), {files.front()}, ""}});
      ASSERT_TRUE(done) << done.error().message() << done.error().detail();
      ASSERT_TRUE(done->known);
      expect_as_read(*done->known);
      ASSERT_TRUE(run(writer().drop_table(soon(), kTable)));
      make_table(c.transform);
    }
    ASSERT_TRUE(run(writer().drop_table(soon(), kTable)));
  }
}

TEST_F(Appends, of_files_without_field_ids_bring_the_names_of_their_columns) {
  make_table(std::nullopt);
  const model::LakeNameMap names{{{1, {"I"}}, {3, {"s", true}}}};
  std::vector<AddedFile> files{added("s3://lake/a.parquet"), added("s3://lake/b.parquet"),
                               added("s3://lake/c.parquet")};
  files[0].names = names;
  files[2].names = names;
  auto done = append(load(), {{SnapshotId(77), files, ""}});
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  EXPECT_FALSE(done->known) << "the table's own names have changed";
  const LakeTablePtr read = load();
  ASSERT_EQ(read->name_maps.size(), 1) << "files with the same names share one mapping";
  EXPECT_EQ(read->name_maps.begin()->second, names);
  std::vector<std::optional<std::int64_t>> of_files;
  for (const auto& [id, file] : changes(read).data_files) of_files.push_back(file.mapping_id);
  const std::int64_t mapping = read->name_maps.begin()->first;
  EXPECT_EQ(of_files, (std::vector<std::optional<std::int64_t>>{mapping, std::nullopt, mapping}));
}

class Properties : public Appends {
 protected:
  using Values = std::map<std::string, std::string>;

  base::Result<ChangedTable> set(const LakeTablePtr& before, const Values& values,
                                 std::optional<std::int64_t> policies = std::nullopt) {
    TableChange change{before, before->metadata, {}};
    change.after.properties = values;
    change.after.last_updated_ms = before->metadata.last_updated_ms + 7;
    change.policies = policies;
    return run(writer().change_table(soon(), std::move(change)));
  }
  static Values with(const LakeTablePtr& before, Values more) {
    more.insert(before->metadata.properties.begin(), before->metadata.properties.end());
    return more;
  }
  std::int64_t policies() {
    return std::stoll(ask("SELECT version FROM @lakeproxy_policy_version"));
  }
};

TEST_F(Properties, are_known_as_a_reader_finds_them) {
  make_table(std::nullopt);
  auto before = load();
  ASSERT_TRUE(before->metadata.properties.contains("gc.enabled"));
  const Values cases[] = {
      with(before, {{"k", "v"}, {"empty", ""}, {"\"quoted\"\n", "\xC3\xA4\\"}}),
      with(before, {{"k", "other"}}),
      with(before, {}),
      {{"gc.enabled", "true"}, {"schema.name-mapping.default", "[]"}, {"comment", "clients'"}},
      {},
      {{"k", "again"}},  // What nobody set comes back, also where nothing is read.
  };
  for (const Values& values : cases) {
    auto done = set(before, values);
    ASSERT_TRUE(done) << done.error().message() << done.error().detail();
    ASSERT_EQ(done->known.has_value(),
              values.contains("comment") == before->metadata.properties.contains("comment"));
    auto read = load();
    if (done->known) {
      EXPECT_EQ(done->known->table.version, read->version);
      EXPECT_EQ(model::write_metadata(done->known->table.metadata),
                model::write_metadata(read->metadata));
    }
    before = read;
  }
}

TEST_F(Properties, that_the_lake_has_a_word_in_are_read) {
  make_table(std::nullopt);
  exec("INSERT INTO ducklake_tag VALUES (1, 1, NULL, 'comment', 'by duckdb')");
  auto before = load();
  ASSERT_EQ(before->metadata.properties.at("comment"), "by duckdb");
  auto done = set(before, {{"comment", "by a client"}});
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->known);
  before = load();
  EXPECT_EQ(before->metadata.properties.at("comment"), "by a client");
  EXPECT_EQ(ask("SELECT value FROM @ducklake_tag WHERE end_snapshot IS NULL"), "by a client");
  done = set(before, {{"comment", "by a client"}, {"k", "v"}});
  ASSERT_TRUE(done);
  ASSERT_TRUE(done->known);
  EXPECT_EQ(done->known->table.metadata.properties, load()->metadata.properties);

  std::vector<AddedFile> files{added("s3://lake/a.parquet")};
  files[0].names = model::LakeNameMap{{{1, {"I"}}}};
  ASSERT_TRUE(append(load(), {{SnapshotId(77), files, ""}}));
  before = load();
  ASSERT_FALSE(before->name_maps.empty());
  done = set(before, with(before, {{"k", "other"}}));
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->known) << "the names of columns of added files are among them";
}

TEST_F(Properties, beside_a_definition_are_read) {
  make_table(std::nullopt);
  auto before = load();
  TableChange change{before, before->metadata, {}};
  change.after.properties["k"] = "v";
  model::Schema other = change.after.current_schema();
  other.schema_id = 9;
  other.fields.pop_back();
  change.after.schemas.push_back(other);
  auto done = run(writer().change_table(soon(), std::move(change)));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_FALSE(done->known);
}

TEST_F(Properties, of_a_clock_that_went_back_are_read) {
  make_table(std::nullopt);
  auto before = load();
  TableChange change{before, before->metadata, {}};
  change.after.properties["k"] = "v";
  change.after.last_updated_ms = before->metadata.last_updated_ms - 1;
  auto done = run(writer().change_table(soon(), std::move(change)));
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->known);
}

TEST_F(Properties, are_set_under_the_policies_that_allow_it_and_no_others) {
  make_table(std::nullopt);
  auto before = load();
  auto stale = set(before, with(before, {{"k", "v"}}), policies() + 1);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().reason(), kStale);
  EXPECT_FALSE(load()->metadata.properties.contains("k"));
  auto done = set(before, with(before, {{"k", "v"}}), policies());
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->head.policies, policies());
}

TEST_F(Appends, that_change_more_than_rows_are_read) {
  make_table(std::nullopt);
  auto before = load();
  model::TableMetadata after = before->metadata;
  after.properties["k"] = "v";
  auto done = run(writer().change_table(
      soon(), {before, after, {{SnapshotId(5), {added("s3://lake/data/main/t/f")}, ""}}}));
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->known);
  before = load();
  ASSERT_FALSE(before->pending.empty());
  done = append(before, {{SnapshotId(6), {added("s3://lake/data/main/t/g")}, ""}});
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->known) << "what was pending before is to be shown too";
}

TEST_F(Appends, stand_on_an_old_reading_while_nobody_touched_the_table) {
  make_table(std::nullopt);
  auto before = load();
  ASSERT_TRUE(run(writer().create_namespace(soon(), model::Namespace{{"other"}}, {})));
  auto done = append(before, {{SnapshotId(5), {added("s3://lake/data/main/t/f")}, ""}});
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_TRUE(done->known);
  expect_as_read(*done->known);
}

TEST_F(Appends, do_not_stand_on_a_reading_that_the_history_does_not_reach) {
  make_table(std::nullopt);
  auto before = load();
  exec(
      "INSERT INTO ducklake_snapshot SELECT n, now(), 0, 3, 0 FROM generate_series(2, 4) n; "
      "INSERT INTO ducklake_snapshot_changes SELECT n, 'inserted_into_table:99' FROM "
      "generate_series(2, 4) n");
  struct {
    const char* name;
    const char* sql;
  } cases[] = {
      {"changes are gone", "DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 3"},
      {"snapshots were removed", "DELETE FROM ducklake_snapshot WHERE snapshot_id = 3"},
  };
  for (const auto& c : cases) {
    exec(c.sql);
    auto done = append(before, {{SnapshotId(5), {added("s3://lake/data/main/t/f")}, ""}});
    ASSERT_FALSE(done) << c.name;
    EXPECT_EQ(done.error().reason(), kStale) << c.name;
  }
  ASSERT_TRUE(append(load(), {{SnapshotId(5), {added("s3://lake/data/main/t/f")}, ""}}));
}

TEST_F(Appends, are_remembered_once_whoever_says_it) {
  make_table(std::nullopt);
  auto table = load();
  Published one = published(table->table_id);
  model::Snapshot snapshot;
  snapshot.snapshot_id = SnapshotId(1);
  snapshot.manifest_list = "s3://lake/list";
  one.snapshots.push_back(snapshot);
  one.metadata_sequence = 1;
  one.metadata_file = {5, "s3://lake/one.metadata.json"};
  EXPECT_TRUE(record(one));
  EXPECT_TRUE(record(one)) << "the same again";
  auto other = one;
  other.metadata_file->metadata_file = "s3://lake/other.metadata.json";
  EXPECT_FALSE(record(other));
  other = one;
  other.snapshots.front().manifest_list = "s3://lake/other";
  EXPECT_FALSE(record(other));
  EXPECT_EQ(load()->metadata.metadata_log.size(), 1U);
}

TEST_F(Appends, nothing_comes_in_beside_what_was_published_without_it) {
  make_table(std::nullopt);
  auto snapshots = [&](std::optional<SnapshotId> built_on, std::vector<std::int64_t> ids) {
    return record(with_snapshots(load()->table_id, built_on, ids));
  };
  for (std::int64_t id = 2; id <= 6; ++id) snapshot(id, "");
  EXPECT_TRUE(snapshots(std::nullopt, {1, 2}));
  EXPECT_TRUE(snapshots(SnapshotId(2), {5}));
  EXPECT_FALSE(snapshots(SnapshotId(2), {4})) << "before a newer one";
  EXPECT_FALSE(snapshots(SnapshotId(2), {6})) << "after one that it does not stand on";
  EXPECT_TRUE(snapshots(SnapshotId(2), {5, 6})) << "the same again, and more";
  EXPECT_TRUE(snapshots(SnapshotId(1), {2})) << "which is there";
  EXPECT_EQ(text("SELECT string_agg(snapshot_id::text, ' ' ORDER BY snapshot_id) FROM "
                 "lk.lakeproxy_snapshot"),
            "1 2 5 6");
}

base::Task<bool> hold_log(base::pg::Pool* pool, std::unique_ptr<base::pg::Transaction>* held,
                          base::RequestContext context) {
  auto begun =
      co_await pool->begin(context, {{{"LOCK TABLE lk.lakeproxy_metadata_log IN SHARE MODE"}, {}}});
  if (begun) *held = std::move(begun->transaction);
  co_return begun.has_value();
}

base::Task<base::Result<std::vector<bool>>> record_by(base::pg::Pool* pool, const Published* one,
                                                      base::RequestContext context) {
  std::vector<const Published*> all{one};
  co_return co_await record_published(context, pool, std::move(all));
}

// Begins when the first recorder has written its snapshot and waits for the log; lets it go when
// the second one waits as well, or is done.
base::Task<base::Result<std::vector<bool>>> record_while_another_does(
    base::pg::Pool* pool, const Published* one, std::unique_ptr<base::pg::Transaction>* held,
    base::RequestContext context) {
  base::pg::Query waiting{{"SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT "
                           "oid FROM pg_database WHERE datname = current_database())"},
                          {}};
  auto count = [&]() -> base::Task<std::int64_t> {
    auto rows = co_await pool->query(context, waiting);
    co_return rows ? (*rows)->int64(0, 0) : -1;
  };
  while (co_await count() < 1) {
  }
  base::Result<std::vector<bool>> result = std::vector<bool>{};
  bool is_done = false;
  auto record = [&]() -> base::Task<void> {
    result = co_await record_by(pool, one, context);
    is_done = true;
  };
  boost::asio::co_spawn(co_await boost::asio::this_coro::executor, record(), boost::asio::detached);
  while (!is_done && co_await count() < 2) {
  }
  co_await (*held)->rollback();
  while (!is_done) co_await count();
  co_return result;
}

TEST_F(Appends, of_two_recorders_at_one_moment_the_second_sees_the_first) {
  make_table(std::nullopt);
  for (std::int64_t id = 2; id <= 5; ++id) snapshot(id, "");
  auto table = load()->table_id;
  ASSERT_TRUE(record(with_snapshots(table, std::nullopt, {3})));
  Published first = with_snapshots(table, SnapshotId(3), {5});
  first.metadata_sequence = 1;
  first.metadata_file = {5, "s3://lake/one.metadata.json"};
  Published second = with_snapshots(table, SnapshotId(3), {4});
  auto others_pool = make_pool();
  std::unique_ptr<base::pg::Transaction> held;
  ASSERT_TRUE(run(hold_log(others_pool.get(), &held, soon())));
  std::vector<base::Task<base::Result<std::vector<bool>>>> tasks;
  tasks.push_back(record_by(pool_.get(), &first, soon()));
  tasks.push_back(record_while_another_does(others_pool.get(), &second, &held, soon()));
  auto recorded = run(base::gather(std::move(tasks)));
  ASSERT_TRUE(recorded[0] && recorded[1]);
  EXPECT_EQ(*recorded[0], std::vector<bool>{true});
  EXPECT_EQ(*recorded[1], std::vector<bool>{false});
  EXPECT_EQ(text("SELECT string_agg(snapshot_id::text, ' ' ORDER BY snapshot_id) FROM "
                 "lk.lakeproxy_snapshot"),
            "3 5");
}

TEST_F(Appends, publications_of_one_batch_stand_on_each_other) {
  make_table(std::nullopt);
  for (std::int64_t id = 2; id <= 6; ++id) snapshot(id, "");
  auto table = load()->table_id;
  Published first = with_snapshots(table, std::nullopt, {3});
  Published next = with_snapshots(table, SnapshotId(3), {5});
  Published beside = with_snapshots(table, SnapshotId(3), {4});
  Published after = with_snapshots(table, SnapshotId(4), {6});
  EXPECT_EQ(record({&first, &next, &beside, &after}),
            (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(text("SELECT string_agg(snapshot_id::text, ' ' ORDER BY snapshot_id) FROM "
                 "lk.lakeproxy_snapshot"),
            "3 5");
}

TEST_F(Appends, a_record_lets_files_go_that_it_replaces) {
  make_table(std::nullopt);
  auto table = load()->table_id;
  for (std::int64_t id = 2; id <= 4; ++id) snapshot(id, "");
  exec("INSERT INTO lakeproxy_kept_file VALUES (1, " + std::to_string(table.value) +
       ", 's3://lake/data/main/t/f', 3, 4)");
  auto kept = [&] { return ask("SELECT count(*) FROM @lakeproxy_kept_file"); };
  auto one = with_snapshots(table, std::nullopt, {4});
  EXPECT_TRUE(record(one));
  EXPECT_EQ(kept(), "1") << "nobody looked";
  one.replaces_files = true;
  EXPECT_TRUE(record(one));
  EXPECT_EQ(kept(), "0");
}

}  // namespace
}  // namespace lake::ducklake
