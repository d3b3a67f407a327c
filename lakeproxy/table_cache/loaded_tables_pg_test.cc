#include <fmt/format.h>

#include <optional>

#include "base/gzip/gunzip.h"
#include "base/gzip/pack.h"
#include "base/runtime/gather.h"
#include "base/testing/minio_server.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/engine/files/engine_fixture_test.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/table_cache/loaded_tables.h"

namespace lake::publish {
namespace {

using base::testing::MinioServer;
using model::SnapshotId;

const model::TableIdentifier kTable{model::Namespace{{"main"}}, "t"};

// One lakeproxy: its cache, and what fills it.
struct Server {
  Server(base::pg::Pool& pool, const ducklake::LakeOptions& options, storage::ObjectStore& store,
         exporter::Exporter& exporter, const base::Clock& clock, base::Random& random)
      : reader(pool, options),
        writer(pool, options, clock, random),
        manifests(store, cache),
        records(pool, record_metrics),
        publisher({.reader = &reader,
                   .writer = &writer,
                   .records = &records,
                   .exporter = &exporter,
                   .counter = &exporter,
                   .manifests = &manifests,
                   .nan_counting = &nan_counting}),
        table_cache({.values = 10}, metrics),
        shared(table_cache),
        loaded_tables(reader, publisher, shared) {}

  base::metrics::Registry metrics;
  ManifestCache cache{std::size_t{1} << 20};
  ducklake::LakeReader reader;
  ducklake::LakeWriter writer;
  ManifestStore manifests;
  NanCounting nan_counting{std::uint64_t{1} << 20, metrics};
  RecordMetrics record_metrics{metrics};
  RecordQueue records;
  Publisher publisher;
  TableCache table_cache;
  LakeTableCache shared;
  LoadedTables loaded_tables;
};

std::string unpacked(const base::gzip::OpenMember& packed) {
  return base::gzip::gunzip(packed.bytes + base::gzip::Tail("").after(packed), 1 << 20).value();
}

class LoadedTablesTest : public ducklake::LakeFixture {
 protected:
  static void TearDownTestSuite() { minio.reset(); }

  void SetUp() override {
    if (!minio) {
      auto started = MinioServer::start();
      ASSERT_TRUE(started) << started.error().message() << "\n" << started.error().detail();
      minio.emplace(std::move(*started));
    }
    static int number = 0;
    std::string bucket = "tables-" + std::to_string(++number);
    options_.data_path = "s3://" + bucket + "/data/";
    open();
    auto made = storage::ObjectStore::create({.endpoint = minio->endpoint(),
                                              .bucket = bucket,
                                              .access_key = MinioServer::kAccessKey,
                                              .secret_key = base::Secret(MinioServer::kSecretKey)},
                                             clock_, random_);
    ASSERT_TRUE(made) << made.error().message();
    store_ = std::move(*made);
    ASSERT_TRUE(run(store_->create_bucket(soon())));
    exporter_.emplace(*engine_, blocking_, *store_);
    first_.emplace(*pool_, options_, *store_, *exporter_, clock_, random_);
    second_.emplace(*pool_, options_, *store_, *exporter_, clock_, random_);
    make_table(bucket);
  }

  void make_table(const std::string& bucket) {
    model::CreateTable request{.name = "t"};
    request.schema.fields = {{.id = 1, .name = "i", .type = model::Type(model::TypeKind::kLong)}};
    location_ = "s3://" + bucket + "/data/main/t";
    auto made = model::new_table(
        request, {.uuid = base::make_uuid_v4(random_), .location = location_, .now_ms = 1});
    ASSERT_TRUE(made);
    ASSERT_TRUE(run(first_->writer.create_table(soon(), {kTable, std::move(*made), {}})));
  }

  LoadedTablePtr get(Server& server) {
    auto loaded = run(server.loaded_tables.get(soon(), kTable));
    EXPECT_TRUE(loaded) << loaded.error().message() << loaded.error().detail();
    return loaded ? *loaded : nullptr;
  }

  ducklake::ChangedTable commit(Server& server, const LoadedTablePtr& before) {
    ducklake::AddedFile file;
    file.file.file_path = location_ + "/f" + std::to_string(++files_) + ".parquet";
    file.file.record_count = 1;
    file.file.file_size_in_bytes = 10;
    std::shared_ptr<const model::LakeTable> table(before, &before->table);
    auto changed = run(server.writer.change_table(
        soon(), {table, before->metadata, {{SnapshotId(700 + files_), {file}, "{}"}}}));
    EXPECT_TRUE(changed) << changed.error().message() << changed.error().detail();
    EXPECT_TRUE(changed->known);
    return std::move(*changed);
  }

  /// Commits and publishes; what follows the answer is not done.
  CacheEntryPtr append(Server& server, const LoadedTablePtr& before) {
    auto entry =
        run(server.loaded_tables.publish_known(soon(), kTable, before, commit(server, before)));
    EXPECT_TRUE(entry) << entry.error().message() << entry.error().detail();
    return *entry;
  }

  bool exists(const std::string& location) {
    auto head = run(store_->head(soon(), *storage::key_in(store_->bucket(), location)));
    if (!head) EXPECT_EQ(head.error().kind(), base::ErrorKind::kNotFound);
    return head.has_value();
  }
  void remove(const std::string& location) {
    auto removed = run(store_->remove(soon(), *storage::key_in(store_->bucket(), location)));
    EXPECT_TRUE(removed) << removed.error().message();
  }
  base::Status record(Server& server, const CacheEntryPtr& entry) {
    return run(server.loaded_tables.record(kTable, entry, RecordTime::kNow));
  }
  void refuse_records() {
    exec(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; "
        "END $$; CREATE TRIGGER refuse BEFORE INSERT ON lakeproxy_metadata_log FOR EACH ROW "
        "EXECUTE FUNCTION refuse()");
  }
  void take_records() { exec("DROP FUNCTION refuse() CASCADE"); }
  std::string recorded() { return text("SELECT count(*) FROM lk.lakeproxy_metadata_log"); }

  static inline std::optional<MinioServer> minio;
  base::SystemClock clock_;
  base::SystemRandom random_;
  exporter::SampleEngine engine_;
  exporter::EnginePool blocking_{1};
  std::unique_ptr<storage::ObjectStore> store_;
  std::optional<exporter::Exporter> exporter_;
  std::optional<Server> first_;
  std::optional<Server> second_;
  std::string location_;
  int files_ = 0;
};

TEST_F(LoadedTablesTest, an_append_is_told_with_all_that_it_names_and_before_its_record) {
  auto before = get(*first_);
  auto entry = append(*first_, before);
  EXPECT_TRUE(exists(entry->loaded->metadata.current_snapshot()->manifest_list));
  EXPECT_TRUE(exists(entry->loaded->metadata_location));
  EXPECT_EQ(recorded(), "1") << "nobody waits for the record";
  ASSERT_TRUE(record(*first_, entry));
  EXPECT_EQ(recorded(), "2");
  ASSERT_TRUE(record(*first_, entry)) << "once is enough";
}

TEST_F(LoadedTablesTest, a_table_that_is_created_is_told_before_its_record) {
  get(*first_);  // It knows the lake.
  const model::TableIdentifier fresh{model::Namespace{{"main"}}, "fresh"};
  model::CreateTable request{.name = "fresh"};
  request.schema.fields = {{.id = 1, .name = "i", .type = model::Type(model::TypeKind::kLong)}};
  auto made = model::new_table(
      request, {.uuid = base::make_uuid_v4(random_), .location = location_ + "fresh", .now_ms = 1});
  ASSERT_TRUE(made);
  auto created = run(first_->writer.create_table(soon(), {fresh, std::move(*made), {}}));
  ASSERT_TRUE(created) << created.error().message();
  auto entry = run(first_->loaded_tables.publish_created(soon(), fresh, std::move(*created)));
  ASSERT_TRUE(entry) << entry.error().message();
  EXPECT_TRUE(exists((*entry)->loaded->metadata_location));
  EXPECT_EQ(recorded(), "1") << "nobody waits for the record";
  EXPECT_EQ(*run(first_->loaded_tables.get(soon(), fresh)), (*entry)->loaded) << "nothing is read";
  auto theirs = run(second_->loaded_tables.get(soon(), fresh));
  ASSERT_TRUE(theirs);
  EXPECT_EQ((*theirs)->metadata_location, (*entry)->loaded->metadata_location);
  EXPECT_TRUE(record(*first_, *entry)) << "another server has recorded the same";
  EXPECT_EQ(recorded(), "2");
}

TEST_F(LoadedTablesTest, properties_are_told_before_their_record_and_as_others_read_them) {
  auto before = append(*first_, get(*first_))->loaded;
  model::TableMetadata after = before->metadata;
  after.properties["k"] = "v";
  after.last_updated_ms += 1;
  std::shared_ptr<const model::LakeTable> table(before, &before->table);
  auto changed = run(first_->writer.change_table(soon(), {table, std::move(after), {}}));
  ASSERT_TRUE(changed) << changed.error().message();
  ASSERT_TRUE(changed->known);
  auto entry =
      run(first_->loaded_tables.publish_known(soon(), kTable, before, std::move(*changed)));
  ASSERT_TRUE(entry) << entry.error().message();
  const LoadedTablePtr told = (*entry)->loaded;
  EXPECT_EQ(told->metadata.properties.at("k"), "v");
  EXPECT_EQ(told->metadata.current_snapshot_id, before->metadata.current_snapshot_id);
  EXPECT_EQ(told->metadata.metadata_log.back().metadata_file, before->metadata_location);
  EXPECT_TRUE(exists(told->metadata_location));
  EXPECT_EQ(recorded(), "1") << "nobody waits for the record";
  EXPECT_EQ(get(*first_), told) << "nothing is read";
  ASSERT_TRUE(record(*first_, *entry));
  EXPECT_EQ(recorded(), "3") << "with what it stands on";
  EXPECT_EQ(*get(*second_)->body, *told->body);
}

TEST_F(LoadedTablesTest, a_load_after_an_append_reads_nothing_and_waits_for_no_record) {
  auto entry = append(*first_, get(*first_));
  refuse_records();
  EXPECT_EQ(get(*first_), entry->loaded);
  EXPECT_EQ(append(*first_, entry->loaded)->loaded->metadata.snapshots.size(), 2U);
  take_records();
}

TEST_F(LoadedTablesTest, commits_that_are_built_on_unrecorded_ones_are_recorded_with_them) {
  auto before = get(*first_);
  CacheEntryPtr entry;
  for (int i = 0; i < 3; ++i) {
    entry = append(*first_, before);
    before = entry->loaded;
  }
  EXPECT_EQ(recorded(), "1");
  ASSERT_TRUE(record(*first_, entry)) << "the last one's caller is the first to come";
  EXPECT_EQ(recorded(), "4");
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_snapshot"), "3");
  auto found = get(*second_);
  EXPECT_EQ(*found->body, *before->body);
}

TEST_F(LoadedTablesTest, a_table_is_recorded_before_it_is_read_again_or_goes) {
  auto entry = append(*first_, get(*first_));
  auto theirs = append(*second_, get(*second_));
  ASSERT_TRUE(record(*second_, theirs));
  EXPECT_EQ(get(*first_)->metadata.snapshots.size(), 2U);
  EXPECT_TRUE(entry->loaded->pending_record->is_recorded());
  entry = append(*first_, get(*first_));
  EXPECT_EQ(*run(first_->loaded_tables.get_recorded(soon(), kTable)), entry->loaded);
  EXPECT_TRUE(entry->loaded->pending_record->is_recorded());
}

// The lake cannot remember it: nothing is built on it, no request fails, and it is made anew.
TEST_F(LoadedTablesTest, what_could_not_be_recorded_is_made_anew) {
  auto before = get(*first_);
  refuse_records();
  auto entry = append(*first_, before);
  EXPECT_FALSE(record(*first_, entry));
  EXPECT_EQ(first_->loaded_tables.newest_known(kTable), nullptr) << "it is forgotten";
  auto shown = get(*first_);
  ASSERT_NE(shown, nullptr) << "a load fails for no record";
  EXPECT_EQ(shown->metadata_location, entry->loaded->metadata_location);
  EXPECT_EQ(recorded(), "1");
  auto wanted = run(first_->loaded_tables.get_recorded(soon(), kTable));
  ASSERT_FALSE(wanted) << "what ends the table does need the record";
  EXPECT_EQ(wanted.error().kind(), base::ErrorKind::kUnavailable);
  auto next = append(*first_, shown);
  EXPECT_EQ(next->loaded->metadata.snapshots.size(), 2U);
  take_records();
  EXPECT_FALSE(run(first_->loaded_tables.remembered(kTable)).value_or(nullptr));
  auto whole = get(*first_);
  EXPECT_EQ(whole->metadata.snapshots.size(), 2U) << "no snapshot is missing";
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_snapshot"), "2");
  EXPECT_EQ(get(*second_)->metadata_location, whole->metadata_location);
}

TEST_F(LoadedTablesTest, nothing_is_built_on_a_publication_whose_record_failed) {
  auto first = append(*first_, get(*first_));
  auto second = append(*first_, first->loaded);
  refuse_records();
  EXPECT_FALSE(record(*first_, first));
  take_records();
  EXPECT_FALSE(record(*first_, second)) << "the lake would hide the first snapshot";
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_snapshot"), "0");
  EXPECT_EQ(get(*first_)->metadata.snapshots.size(), 2U);
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_snapshot"), "2");
}

TEST_F(LoadedTablesTest, what_is_known_is_known_before_its_record) {
  EXPECT_EQ(first_->loaded_tables.newest_known(kTable), nullptr);
  auto entry = append(*first_, get(*first_));
  EXPECT_EQ(first_->loaded_tables.newest_known(kTable), entry);
  EXPECT_EQ(recorded(), "1");
  EXPECT_EQ(second_->loaded_tables.newest_known(kTable), nullptr) << "of another server's";
}

TEST_F(LoadedTablesTest, the_next_commit_names_the_metadata_file_of_the_one_before) {
  auto entry = append(*first_, get(*first_));
  auto next = append(*first_, entry->loaded);
  EXPECT_EQ(next->loaded->metadata.snapshots.size(), 2U);
  EXPECT_EQ(next->loaded->metadata.metadata_log.back().metadata_file,
            entry->loaded->metadata_location);
}

// What is left behind when the process is killed between answer and record.
TEST_F(LoadedTablesTest, another_server_makes_the_same_file_that_was_told) {
  auto before = append(*first_, get(*first_))->loaded;
  ASSERT_TRUE(run(first_->loaded_tables.remembered(kTable)));
  auto told = append(*first_, before)->loaded;
  remove(told->metadata_location);  // As gc may, of what nobody recorded.
  auto found = get(*second_);
  EXPECT_EQ(found->metadata_location, told->metadata_location);
  EXPECT_EQ(*found->body, *told->body);
  EXPECT_TRUE(exists(told->metadata_location));
}

TEST_F(LoadedTablesTest, what_was_left_undone_is_shown_after_the_next_append_too) {
  auto told = append(*first_, get(*first_))->loaded;
  // The second server has never seen the table: it must not build on less.
  auto remembered = run(second_->loaded_tables.remembered(kTable));
  ASSERT_TRUE(remembered);
  EXPECT_EQ(*remembered, nullptr);
  auto next = append(*second_, get(*second_))->loaded;
  EXPECT_EQ(next->metadata.snapshots.size(), 2U);
  EXPECT_TRUE(exists(told->metadata_location));
}

TEST_F(LoadedTablesTest, both_servers_may_record_the_same) {
  auto entry = append(*first_, get(*first_));
  EXPECT_EQ(get(*second_)->metadata_location, entry->loaded->metadata_location);
  EXPECT_TRUE(record(*first_, entry));
  EXPECT_EQ(get(*first_), entry->loaded);
}

TEST_F(LoadedTablesTest, event_loops_that_want_a_table_at_once_publish_it_once) {
  get(*first_);
  LoadedTables other_loop(first_->reader, first_->publisher, first_->shared);
  commit(*second_, get(*second_));
  std::vector<base::Task<base::Result<LoadedTablePtr>>> gets;
  for (LoadedTables* loaded_tables :
       {&first_->loaded_tables, &other_loop, &first_->loaded_tables}) {
    gets.push_back(loaded_tables->get(soon(), kTable));
  }
  auto loaded_tables = run(base::gather(std::move(gets)));
  for (const auto& loaded : loaded_tables) {
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ(*loaded, *loaded_tables.front()) << "they are shown the same, not only equals";
    EXPECT_EQ((*loaded)->metadata.snapshots.size(), 1U);
  }
  EXPECT_EQ(recorded(), "2");
}

TEST_F(LoadedTablesTest, a_body_is_packed_once_for_all_who_want_it_and_weighs) {
  auto loaded = get(*first_);
  auto count = [&] {
    const std::string text = first_->metrics.text();
    constexpr std::string_view kName = "\nlakeproxy_metadata_packed_total ";
    return text.substr(text.find(kName) + kName.size(), 2);
  };
  const std::size_t before = first_->table_cache.entries.bytes();
  EXPECT_EQ(count(), "0\n");
  LoadedTables other_loop(first_->reader, first_->publisher, first_->shared);
  std::vector<base::Task<base::Result<PackedText>>> wanted;
  for (LoadedTables* loaded_tables :
       {&first_->loaded_tables, &other_loop, &first_->loaded_tables}) {
    wanted.push_back(loaded_tables->packed(soon(), kTable, loaded, model::SnapshotSelection::kAll));
  }
  auto packed = run(base::gather(std::move(wanted)));
  for (const auto& bytes : packed) {
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(*bytes, *packed.front()) << "they are sent the same, not only equals";
  }
  EXPECT_EQ(unpacked(**packed.front()), *loaded->body);
  EXPECT_EQ(count(), "1\n");
  EXPECT_EQ(first_->table_cache.entries.bytes(), before + (*packed.front())->bytes.size());
  EXPECT_TRUE(
      run(first_->loaded_tables.packed(soon(), kTable, loaded, model::SnapshotSelection::kRefs)));
  EXPECT_EQ(count(), "2\n") << "the other form is another body";
}

TEST_F(LoadedTablesTest, a_large_body_is_packed_beside_the_event_loop) {
  auto loaded = get(*first_);
  auto table = loaded->table;
  table.metadata.properties["filler"] = std::string(300'000, 'x');
  LoadedTablePtr other = make_loaded_table(std::move(table), nullptr);
  const std::size_t before = first_->table_cache.entries.bytes();
  auto packed =
      run(first_->loaded_tables.packed(soon(), kTable, other, model::SnapshotSelection::kAll));
  ASSERT_TRUE(packed) << packed.error().message();
  EXPECT_EQ(unpacked(**packed), *other->body);
  EXPECT_EQ(first_->table_cache.entries.bytes(), before) << "the cache has another one";
}

TEST_F(LoadedTablesTest, an_entry_that_another_server_overtook_is_forgotten) {
  auto entry = append(*first_, get(*first_));
  exec(
      "INSERT INTO lakeproxy_metadata_log SELECT table_id, sequence + 1, 5, 's3://x/other' FROM "
      "lakeproxy_metadata_log");
  auto recorded = record(*first_, entry);
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().reason(), ducklake::kStale);
  EXPECT_EQ(*run(first_->loaded_tables.remembered(kTable)), nullptr);
  auto fresh = get(*first_);
  EXPECT_EQ(fresh->metadata.metadata_log.back().metadata_file, "s3://x/other");
  EXPECT_EQ(fresh->metadata.snapshots.size(), 1U);
}

TEST_F(LoadedTablesTest, a_commit_of_another_server_makes_an_entry_old) {
  auto mine = get(*first_);
  auto theirs = append(*second_, get(*second_))->loaded;
  EXPECT_EQ(*run(first_->loaded_tables.remembered(kTable)), mine) << "it is not asked for";
  EXPECT_EQ(get(*first_)->metadata_location, theirs->metadata_location);
  auto refused = run(first_->writer.change_table(
      soon(), {std::shared_ptr<const model::LakeTable>(mine, &mine->table), mine->metadata, {}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), ducklake::kStale);
}

TEST_F(LoadedTablesTest, a_merge_is_one_more_snapshot_and_changes_none) {
  for (int i = 0; i < 3; ++i) append(*first_, get(*first_));
  const LoadedTablePtr before = get(*first_);
  exec(fmt::format(
      "BEGIN; INSERT INTO ducklake_snapshot SELECT snapshot_id + 1, now(), schema_version, "
      "next_catalog_id, next_file_id + 1 FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1; "
      "INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, path, "
      "path_is_relative, file_format, record_count, file_size_bytes, partial_max) SELECT (SELECT "
      "max(next_file_id) - 1 FROM ducklake_snapshot), {0}, min(begin_snapshot), 'merged.parquet', "
      "true, 'parquet', sum(record_count), 30, max(begin_snapshot) FROM ducklake_data_file WHERE "
      "table_id = {0}; DELETE FROM ducklake_data_file WHERE table_id = {0} AND path <> "
      "'merged.parquet'; INSERT INTO ducklake_snapshot_changes (snapshot_id, changes_made) SELECT "
      "max(snapshot_id), 'merge_adjacent:{0}' FROM ducklake_snapshot; COMMIT",
      before->table.table_id.value));
  const LoadedTablePtr after = get(*first_);
  const auto& entry = before->metadata.snapshots.items();
  const auto& shown = after->metadata.snapshots.items();
  ASSERT_EQ(shown.size(), entry.size() + 1);
  for (std::size_t i = 0; i < entry.size(); ++i) EXPECT_EQ(*shown[i], *entry[i]);
  EXPECT_EQ(shown.back()->operation, model::Operation::kReplace);
  EXPECT_EQ(shown.back()->summary.at("total-data-files"), "1");
  EXPECT_EQ(shown.back()->summary.at("total-records"), "3");
  EXPECT_EQ(get(*second_)->metadata_location, after->metadata_location);
}

}  // namespace
}  // namespace lake::publish
