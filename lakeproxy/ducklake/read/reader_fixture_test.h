#pragma once

// Lakes with one table, as DuckDB writes them, and what a reader says of them.

#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/read/lake_reader.h"

namespace lake::ducklake {

using Ids = std::vector<std::int64_t>;

class Reader : public LakeFixture {
 protected:
  void SetUp() override { open(); }

  LakeReader reader() { return {*pool_, options_}; }

  /// Table 1, "main"."t" (i int), at snapshot 1.
  void make_table() {
    snapshot(1, "created_table:\"main\".\"t\"",
             "INSERT INTO ducklake_table VALUES (1, '11111111-1111-1111-1111-111111111111', 1, "
             "NULL, 0, 't', 't/', true); INSERT INTO ducklake_schema_versions VALUES (1, 1, 1); "
             "INSERT INTO ducklake_column VALUES (1, 1, NULL, 1, 1, 'i', 'int32', NULL, 'NULL', "
             "true, NULL, 'literal', 'duckdb')");
  }
  static std::string data_file(int id, int begin, const std::string& end = "NULL",
                               const std::string& partial_max = "NULL") {
    return fmt::format(
        "INSERT INTO ducklake_data_file VALUES ({0}, 1, {1}, {2}, NULL, 'f{0}.parquet', true, "
        "'parquet', 10, 1000, 100, 0, NULL, NULL, NULL, {3})",
        id, begin, end, partial_max);
  }
  model::LakeTable load() {
    auto lake = reader();
    auto table = run(lake.load_table(soon(), model::TableId(1)));
    EXPECT_TRUE(table) << table.error().message() << table.error().detail();
    return table ? std::move(*table) : model::LakeTable{};
  }
  Ids pending() {
    Ids ids;
    for (model::SnapshotId id : load().pending) ids.push_back(id.value);
    return ids;
  }
  void materialize(int snapshot_id) {
    exec(fmt::format(
        "INSERT INTO lakeproxy_snapshot (table_id, snapshot_id, snapshot_json) VALUES (1, {0}, "
        "'{{\"snapshot-id\": {0}, "
        "\"sequence-number\": 1, \"timestamp-ms\": 5, \"manifest-list\": \"s3://l/m.avro\", "
        "\"summary\": {{\"operation\": \"append\"}}}}')",
        snapshot_id));
  }
};

}  // namespace lake::ducklake
