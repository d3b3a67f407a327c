#include "base/runtime/gather.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/to_iceberg/publish/record_queue.h"

namespace lake::publish {
namespace {

using PendingPtr = std::shared_ptr<PendingRecord>;

class RecordQueueTest : public ducklake::LakeFixture {
 protected:
  void SetUp() override { open(); }

  /// Nothing of it needs to be there but its rows.
  PendingPtr publication(std::int64_t table, std::int64_t number, PendingPtr before = nullptr) {
    ducklake::Published published{.metadata_schema = options_.metadata_schema,
                                  .table = model::TableId(table)};
    model::Snapshot snapshot;
    snapshot.snapshot_id = model::SnapshotId(number);
    snapshot.manifest_list = "s3://lake/list-" + std::to_string(number);
    published.snapshots.push_back(snapshot);
    if (before) published.built_on = before->published().snapshots.back().snapshot_id;
    published.metadata_sequence = number;
    published.metadata_file = {5, "s3://lake/" + std::to_string(number) + ".metadata.json"};
    return std::make_shared<PendingRecord>(std::move(published), std::move(before));
  }
  std::vector<base::Status> record(RecordQueue& queue, const std::vector<PendingPtr>& all_pending,
                                   RecordTime time = RecordTime::kWithOthers) {
    std::vector<base::Task<base::Status>> tasks;
    for (const PendingPtr& pending : all_pending) tasks.push_back(queue.record(pending, time));
    return run(base::gather(std::move(tasks)));
  }
  std::string rows() {
    return ask(
        "SELECT (SELECT count(*) FROM @lakeproxy_snapshot) || ' ' || (SELECT count(*) FROM "
        "@lakeproxy_metadata_log)");
  }
  /// Transactions that wrote rows of records.
  std::string transactions() {
    return ask("SELECT count(DISTINCT xmin::text) FROM @lakeproxy_metadata_log");
  }

  base::metrics::Registry metrics_;
  RecordMetrics counts_{metrics_};
};

TEST_F(RecordQueueTest, a_hundred_records_are_few_transactions) {
  RecordQueue queue(*pool_, counts_);
  std::vector<PendingPtr> all_pending;
  for (int i = 1; i <= 100; ++i) all_pending.push_back(publication(i, 1));
  for (const auto& status : record(queue, all_pending)) EXPECT_TRUE(status);
  EXPECT_EQ(rows(), "100 100");
  EXPECT_EQ(transactions(), "2") << "64, and what is left";
  EXPECT_NE(metrics_.text().find("lakeproxy_publication_record_transactions_total 2"),
            std::string::npos);
  EXPECT_NE(metrics_.text().find("lakeproxy_publication_records_waiting 0"), std::string::npos);
}

TEST_F(RecordQueueTest, several_of_one_table_go_together_in_their_order) {
  RecordQueue queue(*pool_, counts_);
  auto first = publication(1, 1);
  auto second = publication(1, 2, first);
  auto third = publication(1, 3, second);
  for (const auto& status : record(queue, {third, first, second, third})) EXPECT_TRUE(status);
  EXPECT_EQ(rows(), "3 3");
  EXPECT_EQ(transactions(), "1");
  EXPECT_EQ(third->before(), nullptr) << "nothing is kept of what is recorded";
}

TEST_F(RecordQueueTest, one_that_somebody_waits_for_goes_at_once_and_takes_the_others_along) {
  RecordQueue queue(*pool_, counts_, {.wait = std::chrono::hours(1)});
  std::vector<base::Task<base::Status>> tasks;
  tasks.push_back(queue.record(publication(1, 1), RecordTime::kWithOthers));
  tasks.push_back(queue.record(publication(2, 1), RecordTime::kNow));
  for (const auto& status : run(base::gather(std::move(tasks)))) EXPECT_TRUE(status);
  EXPECT_EQ(transactions(), "1");
  EXPECT_EQ(rows(), "2 2");
}

base::Task<bool> hurry(RecordQueue* queue) {
  queue->hurry();
  co_return true;
}

TEST_F(RecordQueueTest, nothing_waits_when_the_process_ends) {
  RecordQueue queue(*pool_, counts_, {.wait = std::chrono::hours(1)});
  auto waiting = publication(1, 1);
  boost::asio::co_spawn(loop_, queue.record(waiting, RecordTime::kWithOthers),
                        [](std::exception_ptr, base::Status) {});
  EXPECT_TRUE(run(hurry(&queue))) << "which ends when nothing is left on the loop";
  EXPECT_TRUE(waiting->is_recorded());
  for (const auto& status : record(queue, {publication(2, 1)})) EXPECT_TRUE(status);
  EXPECT_EQ(rows(), "2 2");
}

TEST_F(RecordQueueTest, one_that_another_server_overtook_fails_alone) {
  RecordQueue queue(*pool_, counts_);
  exec("INSERT INTO lakeproxy_metadata_log VALUES (2, 1, 5, 's3://lake/other.metadata.json')");
  auto overtaken = publication(2, 1);
  auto built_on_it = publication(2, 2, overtaken);
  auto statuses = record(queue, {publication(1, 1), overtaken, built_on_it, publication(3, 1)});
  EXPECT_TRUE(statuses[0]);
  EXPECT_EQ(statuses[1].error().reason(), ducklake::kStale);
  EXPECT_EQ(statuses[2].error().reason(), ducklake::kStale);
  EXPECT_TRUE(statuses[3]);
  EXPECT_TRUE(overtaken->has_failed());
  EXPECT_TRUE(built_on_it->has_failed());
}

TEST_F(RecordQueueTest, what_shows_a_commit_that_a_failover_lost_is_left_out_with_what_follows) {
  RecordQueue queue(*pool_, counts_);
  auto lost = publication(2, 1);
  ducklake::Published shows_it = lost->published();
  shows_it.read_at = model::LakeVersion{.snapshot = model::SnapshotId(77), .snapshot_ms = 5};
  lost = std::make_shared<PendingRecord>(shows_it, nullptr);
  auto statuses = record(queue, {publication(1, 1), lost, publication(2, 2, lost)});
  EXPECT_TRUE(statuses[0]);
  EXPECT_EQ(statuses[1].error().reason(), ducklake::kStale);
  EXPECT_EQ(statuses[2].error().reason(), ducklake::kStale);
  EXPECT_EQ(rows(), "1 1") << "a later snapshot would hide the one that is missing";
}

TEST_F(RecordQueueTest, lakes_share_a_transaction) {
  ducklake::LakeOptions other = options_;
  other.metadata_schema = "other";
  other.data_path = "s3://lake/other/";
  ASSERT_TRUE(run(open_lake(soon(), *pool_, other)));
  auto elsewhere = publication(1, 1)->published();
  elsewhere.metadata_schema = other.metadata_schema;
  elsewhere.metadata_file->metadata_file = "s3://lake/other/1.metadata.json";
  auto of_other = std::make_shared<PendingRecord>(elsewhere, nullptr);
  RecordQueue queue(*pool_, counts_);
  for (const auto& status : record(queue, {publication(1, 1), of_other})) EXPECT_TRUE(status);
  EXPECT_EQ(text("SELECT count(DISTINCT x) || ' ' || count(*) FROM (SELECT xmin::text AS x FROM "
                 "lk.lakeproxy_metadata_log UNION ALL SELECT xmin::text FROM "
                 "other.lakeproxy_metadata_log) AS both_lakes"),
            "1 2");
}

TEST_F(RecordQueueTest, one_that_cannot_be_written_fails_alone) {
  RecordQueue queue(*pool_, counts_);
  exec("ALTER TABLE lakeproxy_snapshot ADD CHECK (table_id <> 2)");
  auto impossible = publication(2, 1);
  auto statuses = record(queue, {publication(1, 1), impossible, publication(3, 1)});
  EXPECT_TRUE(statuses[0]);
  ASSERT_FALSE(statuses[1]);
  EXPECT_NE(statuses[1].error().reason(), ducklake::kStale);
  EXPECT_TRUE(statuses[2]);
  EXPECT_EQ(rows(), "2 2");
  auto again = record(queue, {impossible});
  ASSERT_FALSE(again.front());
  EXPECT_EQ(again.front().error().reason(), ducklake::kStale) << "it must be made anew";
}

TEST_F(RecordQueueTest, without_a_database_all_fail_and_the_next_batch_does_not) {
  auto own = make_pool();
  RecordQueue queue(*own, counts_);
  own->close();
  for (const auto& status : record(queue, {publication(1, 1), publication(2, 1)})) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind(), base::ErrorKind::kUnavailable);
  }
  RecordQueue next(*pool_, counts_);
  for (const auto& status : record(next, {publication(1, 1)})) EXPECT_TRUE(status);
}

TEST_F(RecordQueueTest, no_more_than_so_many_wait) {
  RecordQueue queue(*pool_, counts_, {.most = 2});
  auto statuses = record(queue, {publication(1, 1), publication(2, 1), publication(3, 1)});
  EXPECT_TRUE(statuses[0]);
  EXPECT_TRUE(statuses[1]);
  ASSERT_FALSE(statuses[2]);
  EXPECT_EQ(statuses[2].error().kind(), base::ErrorKind::kUnavailable);
  EXPECT_TRUE(record(queue, {publication(3, 1)}).front()) << "there is room again";
}

TEST_F(RecordQueueTest, event_loops_record_the_same_at_once) {
  RecordQueue one(*pool_, counts_);
  auto others_pool = make_pool();
  RecordQueue other(*others_pool, counts_);
  auto first = publication(1, 1);
  std::vector<base::Task<base::Status>> tasks;
  tasks.push_back(one.record(first, RecordTime::kNow));
  tasks.push_back(other.record(publication(1, 2, first), RecordTime::kNow));
  tasks.push_back(other.record(publication(1, 1), RecordTime::kNow));
  for (const auto& status : run(base::gather(std::move(tasks)))) EXPECT_TRUE(status);
  EXPECT_EQ(rows(), "2 2");
}

}  // namespace
}  // namespace lake::publish
