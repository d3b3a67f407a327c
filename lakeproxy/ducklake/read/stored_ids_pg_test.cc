#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/reader_fixture_test.h"
#include "lakeproxy/ducklake/read/stored_ids.h"

namespace lake::ducklake {
namespace {

using model::LakeTable;
using model::Schema;
using model::SnapshotId;
using model::TableId;

class StoredIds : public Reader {
 protected:
  void add_column(int id, int at, const std::string& name = "c") {
    snapshot(at, "altered_table:1",
             fmt::format("INSERT INTO ducklake_column VALUES ({0}, {1}, NULL, 1, {0}, '{2}', "
                         "'int32', NULL, 'NULL', true, NULL, 'literal', 'duckdb')",
                         id, at, name));
  }
  void drop_column(int id, int at) {
    snapshot(at, "altered_table:1",
             fmt::format("UPDATE ducklake_column SET end_snapshot = {1} WHERE column_id = {0} AND "
                         "end_snapshot IS NULL",
                         id, at));
  }
  AssignedIds stored() {
    auto definitions = run(pool_->query(
        soon(), {{"SELECT kind, id, body FROM lk.lakeproxy_definition WHERE table_id = 1"}, {}}));
    auto uses = run(pool_->query(
        soon(),
        {{"SELECT kind, key, id FROM lk.lakeproxy_definition_use WHERE table_id = 1"}, {}}));
    EXPECT_TRUE(definitions && uses);
    auto ids = read_assigned_ids(**definitions, **uses);
    EXPECT_TRUE(ids) << ids.error().message();
    return ids ? *ids : AssignedIds{};
  }
  void store(const AssignedIds& before, const AssignedIds& after, std::size_t statements = 2) {
    auto begun = run(pool_->begin(soon(), {{{"SELECT 1"}, {}}}));
    ASSERT_TRUE(begun);
    auto queries =
        store_ids(SchemaSql(options_.metadata_schema), TableId(1), before, after).queries;
    queries.resize(statements);
    auto done = run(begun->transaction->run_and_commit(std::move(queries)));
    ASSERT_TRUE(done) << done.error().detail();
  }
  static std::string json(const char* name) {
    return fmt::format(R"({{"type": "struct", "schema-id": 1, "fields": [{{"id": 1, "name": "{}", )"
                       R"("required": false, "type": "int"}}]}})",
                       name);
  }
};

TEST_F(StoredIds, a_load_stores_what_it_shows_once) {
  make_table();
  add_column(2, 2);
  const LakeTable first = load();
  EXPECT_EQ(first.metadata.current_schema_id, 1);
  const AssignedIds ids = stored();
  EXPECT_EQ(ids.schema_at, first.schema_at);
  EXPECT_EQ(ids.schemas.size(), 2);
  EXPECT_EQ(ids.specs.size(), 1);
  EXPECT_EQ(load().metadata.schemas, first.metadata.schemas);
  EXPECT_EQ(stored(), ids);
}

TEST_F(StoredIds, ids_do_not_follow_from_rows_that_are_gone) {
  make_table();
  add_column(2, 2);
  drop_column(2, 3);
  add_column(3, 4, "d");
  const LakeTable before = load();
  EXPECT_EQ(before.metadata.current_schema_id, 2);
  exec("DELETE FROM ducklake_column WHERE column_id = 2");
  const LakeTable after = load();
  EXPECT_EQ(after.metadata.schemas, before.metadata.schemas);
  EXPECT_EQ(after.schema_at, before.schema_at);
  EXPECT_EQ(after.metadata.last_column_id, 3);
  drop_column(3, 5);
  EXPECT_EQ(load().metadata.current_schema_id, 0) << "equal columns have the id that they had";
  EXPECT_EQ(load().metadata.last_column_id, 3);
}

TEST_F(StoredIds, two_servers_show_the_same_ids) {
  make_table();
  for (int at = 2; at < 8; ++at) add_column(at, at, fmt::format("c{}", at));
  auto other = make_pool();
  LakeReader one(*pool_, options_);
  LakeReader two(*other, options_);
  std::vector<LakeTable> tables;
  for (LakeReader* reader : {&one, &two, &one, &two}) {
    boost::asio::co_spawn(loop_, reader->load_table(soon(), TableId(1)),
                          [&](std::exception_ptr, base::Result<LakeTable> table) {
                            ASSERT_TRUE(table) << table.error().message();
                            tables.push_back(std::move(*table));
                          });
  }
  loop_.restart();
  loop_.run();
  ASSERT_EQ(tables.size(), 4);
  for (const LakeTable& table : tables) {
    EXPECT_EQ(table.schema_at, tables[0].schema_at);
    EXPECT_EQ(table.metadata.schemas, tables[0].metadata.schemas);
  }
  EXPECT_EQ(stored().schemas.size(), 7);
}

// A client's commit gave the id while a load, which had read before, gave it too.
TEST_F(StoredIds, an_id_that_another_took_meanwhile_is_not_given) {
  make_table();
  load();
  const AssignedIds before = stored();
  AssignedIds after = before;
  after.schemas[1] = {.schema_id = 1, .fields = before.schemas.at(0).fields};
  after.schemas[1].fields[0].name = "duckdbs";
  after.schema_at[SnapshotId(2)] = 1;
  exec(fmt::format("INSERT INTO lakeproxy_definition VALUES (1, 'schema', 1, '{}')",
                   json("clients")));
  store(before, after);
  EXPECT_EQ(stored().schemas.at(1).fields[0].name, "clients");
  EXPECT_FALSE(stored().schema_at.contains(SnapshotId(2)));
  exec(
      "UPDATE lakeproxy_definition SET body = jsonb_set(body::jsonb, '{fields,0,name}', "
      "'\"duckdbs\"') WHERE kind = 'schema' AND id = 1");
  store(before, after);
  EXPECT_EQ(stored().schema_at.at(SnapshotId(2)), 1) << "where it is the same it counts";
}

TEST_F(StoredIds, what_stands_there_is_replaced_only_by_who_has_seen_it) {
  make_table();
  load();
  exec(
      fmt::format("INSERT INTO lakeproxy_definition VALUES (1, 'schema', 1, '{}'); INSERT INTO "
                  "lakeproxy_definition_use VALUES (1, 'schema', 2, 1)",
                  json("i")));
  add_column(2, 2);
  const LakeTable table = load();
  EXPECT_EQ(table.schema_at.at(SnapshotId(2)), 2) << "snapshot 2 is DuckDB's";
  AssignedIds old = stored();
  old.schema_at[SnapshotId(2)] = 1;
  AssignedIds late = old;
  late.schema_at[SnapshotId(2)] = 0;
  store(old, late);
  EXPECT_EQ(stored().schema_at.at(SnapshotId(2)), 2);
}

TEST_F(StoredIds, a_definition_that_was_stored_alone_is_taken_up) {
  make_table();
  load();
  const AssignedIds before = stored();
  add_column(2, 2);
  load();
  const AssignedIds whole = stored();
  exec("DELETE FROM lakeproxy_definition_use WHERE key = 2");
  EXPECT_EQ(load().metadata.current_schema_id, 1);
  EXPECT_EQ(stored(), whole);
  EXPECT_NE(whole, before);
}

// Of what the JSON form holds in words, or of which equality says nothing.
TEST_F(StoredIds, every_default_comes_back_from_where_it_is_stored) {
  make_table();
  int column = 2;
  for (const auto& [type, value] :
       std::vector<std::pair<const char*, const char*>>{{"float64", "nan"},
                                                        {"float32", "-inf"},
                                                        {"timestamp", "infinity"},
                                                        {"date", "290000-01-01"},
                                                        {"blob", "\\x00a"},
                                                        {"decimal(9,2)", "-1.50"}}) {
    exec(
        fmt::format("INSERT INTO ducklake_column VALUES ({0}, 1, NULL, 1, {0}, 'c{0}', '{1}', "
                    "'{2}', '{2}', true, NULL, 'literal', 'duckdb')",
                    column++, type, value));
  }
  for (std::int32_t version : {2, 3}) {
    options_.default_format_version = version;
    const LakeTable table = load();
    EXPECT_EQ(table.metadata.current_schema_id, 0) << version;
    EXPECT_EQ(table.metadata.schemas.size(), 1);
    EXPECT_EQ(table.metadata.current_schema().fields.back().write_default.has_value(),
              version == 3);
  }
}

// A refusal shows nothing, so nothing is stored.
TEST_F(StoredIds, a_table_that_is_refused_gets_no_ids) {
  make_table();
  add_column(2, 2);
  exec("UPDATE ducklake_column SET column_type = 'interval' WHERE column_id = 2");
  auto lake = reader();
  ASSERT_FALSE(run(lake.load_table(soon(), TableId(1))));
  EXPECT_EQ(stored(), AssignedIds{});
}

TEST_F(StoredIds, nothing_counts_where_one_of_the_definitions_is_anothers) {
  make_table();
  load();
  const AssignedIds before = stored();
  AssignedIds after = before;
  for (std::int32_t id : {1, 2}) {
    after.schemas[id] = {.schema_id = id, .fields = before.schemas.at(0).fields};
    after.schemas[id].fields[0].name = fmt::format("duckdbs{}", id);
    after.schema_at[SnapshotId(id + 1)] = id;
  }
  exec(fmt::format("INSERT INTO lakeproxy_definition VALUES (1, 'schema', 1, '{}')",
                   json("clients")));
  store(before, after);
  EXPECT_EQ(stored().schema_at, before.schema_at)
      << "else the snapshot before would never get its schema";
}

TEST_F(StoredIds, a_spec_without_fields_gets_its_id_once_and_when_it_is_needed) {
  make_table();
  const LakeTable table = load();
  LakeReader lake(*pool_, options_);
  EXPECT_EQ(run(lake.assign_unpartitioned_spec(soon(), TableId(1), table.version)), 0)
      << "a table of DuckDB has it";
  exec(
      "UPDATE lakeproxy_definition SET body = '[{\"source-id\": 1, \"field-id\": 1000, "
      "\"transform\": \"identity\", \"name\": \"i\"}]' WHERE kind = 'spec'; INSERT INTO "
      "lakeproxy_definition_use VALUES (1, 'default', 1, 0)");
  EXPECT_EQ(load().unpartitioned_spec_id, std::nullopt);
  EXPECT_EQ(stored().specs.size(), 1) << "a load does not need it";
  auto other = make_pool();
  LakeReader two(*other, options_);
  std::vector<std::int32_t> given;
  for (LakeReader* reader : {&lake, &two, &lake, &two}) {
    boost::asio::co_spawn(
        loop_, reader->assign_unpartitioned_spec(soon(), TableId(1), table.version),
        [&](std::exception_ptr, base::Result<std::int32_t> id) { given.push_back(id.value()); });
  }
  loop_.restart();
  loop_.run();
  EXPECT_EQ(given, (std::vector<std::int32_t>{1, 1, 1, 1}));
  EXPECT_EQ(load().unpartitioned_spec_id, 1);
  EXPECT_EQ(load().metadata.default_spec_id, 0);
  EXPECT_EQ(stored().specs.size(), 2);
}

TEST_F(StoredIds, a_state_that_a_failover_lost_gets_no_spec) {
  make_table();
  LakeTable table = load();
  exec(
      "DELETE FROM lakeproxy_definition WHERE kind = 'spec'; INSERT INTO lakeproxy_definition "
      "VALUES (1, 'spec', 0, '[{}]')");
  table.version.snapshot_ms += 1;
  LakeReader lake(*pool_, options_);
  auto id = run(lake.assign_unpartitioned_spec(soon(), TableId(1), table.version));
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().reason(), kStale);
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_definition WHERE kind = 'spec'"), "1");
}

}  // namespace
}  // namespace lake::ducklake
