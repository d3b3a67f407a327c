#include "toolserver/connectors/sql/sql_connector.h"

#include <sys/stat.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/duckdb/connection.h"
#include "base/duckdb/engine.h"
#include "toolserver/connectors/sql/sql_fixture_test.h"

namespace tool::connectors {
namespace {

using base::json::Array;
using base::json::Object;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Would run for many minutes.
constexpr const char* kEndless =
    "SELECT sum((a.i + b.i) % 7) FROM range(10000000) a(i), range(10000) b(i)";
// Never has a first row to give, and never ends.
constexpr const char* kNoRows =
    "SELECT a.i FROM range(1000000000) a(i), range(100000) b(i) WHERE a.i + b.i = -1";
constexpr const char* kRecursion =
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r";

class SqlConnectorTest : public SqlTest {
 protected:
  Outcome<ToolResult> query_with(std::string_view sql, Array params) {
    return call("sql.query", {{"sql", sql}, {"params", std::move(params)}});
  }
};

TEST_F(SqlConnectorTest, offers_its_tools_with_schemas) {
  std::vector<std::string> names;
  for (const Capability& capability : connector->capabilities()) {
    names.push_back(capability.id.text());
    EXPECT_EQ(capability.input_schema.at("type").as_string(), "object");
    EXPECT_FALSE(capability.input_schema.at("additionalProperties").as_bool());
    EXPECT_TRUE(capability.output_schema.has_value());
    EXPECT_EQ(capability.annotations.read_only,
              capability.id.text() != "sql.load" && capability.id.text() != "sql.unload");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"sql.query", "sql.list_tables", "sql.describe",
                                             "sql.load", "sql.unload"}));
  auto bare = SqlConnector::open({});
  ASSERT_TRUE(bare) << bare.error().message();
  EXPECT_EQ((*bare)->capabilities().size(), 3u);
  connector = std::move(*bare);
  EXPECT_EQ(rows_of("SELECT 1"), "[[1]]");
  EXPECT_EQ(fate(call("sql.load", {{"file", "t.csv"}, {"table", "x"}})), "E_TOOL");
}

TEST_F(SqlConnectorTest, options_are_checked) {
  auto opens = [&](SqlOptions options) { return SqlConnector::open(options).has_value(); };
  EXPECT_TRUE(opens({.data_dir = data}));
  EXPECT_FALSE(opens({.data_dir = "relative"}));
  EXPECT_FALSE(opens({.data_dir = data + "/none"}));
  EXPECT_FALSE(opens({.data_dir = data + "/t.csv"}));
  EXPECT_FALSE(opens({.memory_bytes = 1}));
  EXPECT_FALSE(opens({.threads = 0}));
  EXPECT_FALSE(opens({.rows = 0}));
  EXPECT_FALSE(opens({.bytes = 0}));
  EXPECT_FALSE(opens({.time = milliseconds(0)}));
  EXPECT_FALSE(opens({.time = milliseconds(300'001)}));
  EXPECT_FALSE(opens({.calls = 0}));
}

TEST_F(SqlConnectorTest, loads_every_kind_of_file) {
  {
    auto engine = base::duckdb::Engine::open({.scratch_dir = data});
    ASSERT_TRUE(engine);
    auto connection = (*engine)->connect();
    ASSERT_TRUE(
        connection->execute("COPY (SELECT 42::INT AS n, 'x' AS s) TO '" + data + "/p.parquet'"));
  }
  write(data + "/j.json", R"([{"n": 1}, {"n": 2}])");
  write(data + "/l.ndjson", "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}\n");
  struct Case {
    const char* file;
    int rows;
  };
  int at = 0;
  for (const Case& c :
       {Case{"p.parquet", 1}, Case{"j.json", 2}, Case{"l.ndjson", 3}, Case{"sub/deep.csv", 1}}) {
    std::string table = "loaded" + std::to_string(++at);
    auto answer = call("sql.load", {{"file", c.file}, {"table", table}});
    ASSERT_EQ(fate(answer), "ok") << text_of(answer);
    EXPECT_EQ(answer->structured->at("row_count").as_int64(), c.rows) << c.file;
    EXPECT_EQ(rows_of("SELECT count(*) FROM " + table), "[[" + std::to_string(c.rows) + "]]");
  }
  auto described = call("sql.describe", {{"table", "LOADED1"}});
  ASSERT_EQ(fate(described), "ok");
  EXPECT_EQ(base::json::write(*described->structured),
            R"({"name":"loaded1","file":"p.parquet","row_count":1,"columns":)"
            R"([{"name":"n","type":"INTEGER"},{"name":"s","type":"VARCHAR"}]})");
  auto listed = call("sql.list_tables", {});
  EXPECT_EQ(listed->structured->at("tables").as_array().size(), 6u);
}

TEST_F(SqlConnectorTest, loads_do_not_replace_unless_asked) {
  auto again = call("sql.load", {{"file", "u.csv"}, {"table", "T"}});
  EXPECT_EQ(fate(again), "mistake");
  EXPECT_EQ(rows_of("SELECT count(*) FROM t"), "[[3]]");
  Object args{{"file", "sub/deep.csv"}, {"table", "t"}, {"replace", true}};
  Invocation dry = invocation("sql.load", args);
  dry.dry_run = true;
  EXPECT_EQ(fate(call(dry)), "ok");
  EXPECT_EQ(rows_of("SELECT count(*) FROM t"), "[[3]]");
  EXPECT_EQ(fate(call("sql.load", args)), "ok");
  EXPECT_EQ(rows_of("SELECT * FROM t"), "[[5]]");
}

TEST_F(SqlConnectorTest, loads_are_limited_in_number) {
  open({.tables = 2});
  EXPECT_EQ(fate(call("sql.load", {{"file", "sub/deep.csv"}, {"table", "x"}})), "E_LIMIT");
  EXPECT_EQ(fate(call("sql.load", {{"file", "sub/deep.csv"}, {"table", "t"}, {"replace", true}})),
            "ok");
}

TEST_F(SqlConnectorTest, loads_tell_of_bad_files_without_paths) {
  write(data + "/bad.parquet", "not parquet");
  for (const char* file : {"missing.csv", "missing.parquet", "bad.parquet", "sub.csv"}) {
    auto answer = call("sql.load", {{"file", file}, {"table", "x"}});
    EXPECT_EQ(fate(answer), "mistake") << file << text_of(answer);
    EXPECT_FALSE(text_of(answer).contains(folder.path())) << text_of(answer);
    EXPECT_TRUE(text_of(answer).contains(file)) << text_of(answer);
  }
  EXPECT_EQ(fate(query("SELECT * FROM x")), "mistake");
}

TEST_F(SqlConnectorTest, table_names_are_checked) {
  for (const char* table :
       {"", "1a", "a b", "a.b", "a\"b", "a'b", "a;b", "\u00e4", "duckdb_x", "PG_x", "sqlite_master",
        "pragma_x", "__x", "a123456789012345678901234567890123456789012345678901234567890123"}) {
    EXPECT_EQ(fate(call("sql.load", {{"file", "t.csv"}, {"table", table}})), "E_SHAPE") << table;
    EXPECT_EQ(fate(call("sql.describe", {{"table", table}})), "E_SHAPE") << table;
  }
  for (const char* table :
       {"a", "_", "SELECT", "a12345678901234567890123456789012345678901234567890123456789012"}) {
    EXPECT_EQ(fate(call("sql.load", {{"file", "t.csv"}, {"table", table}})), "ok") << table;
  }
  EXPECT_EQ(rows_of("SELECT count(*) FROM \"SELECT\""), "[[3]]");
}

TEST_F(SqlConnectorTest, binds_parameters_by_their_json_type) {
  auto answer = query_with(
      "SELECT typeof($1), typeof($2), typeof($3), typeof($4), typeof($5), $5, typeof($6)",
      {true, 1, 1.5, "x'; DROP TABLE t; --", nullptr, 18446744073709551615U});
  EXPECT_EQ(rows_of(answer),
            R"([["BOOLEAN","BIGINT","DOUBLE","VARCHAR","\"NULL\"",null,"UBIGINT"]])");
  EXPECT_EQ(rows_of(query_with("SELECT b FROM t WHERE a = ?", {2})), R"([["two"]])");
  EXPECT_EQ(rows_of(query_with("SELECT b FROM t WHERE b LIKE $1", {"%w%"})), R"([["two"]])");
  EXPECT_EQ(rows_of(query_with("SELECT $1::DATE + 1", {"2024-02-28"})), R"([["2024-02-29"]])");
  EXPECT_EQ(fate(query_with("SELECT $1", {})), "mistake");
  EXPECT_EQ(fate(query_with("SELECT 1", {1})), "mistake");
  EXPECT_EQ(fate(query_with("SELECT $1::INT", {"x"})), "mistake");
  EXPECT_EQ(fate(query_with("SELECT $1", {Array{1}})), "E_SHAPE");
  EXPECT_EQ(fate(query_with("SELECT $1", {Object{}})), "E_SHAPE");
  EXPECT_EQ(fate(query_with("SELECT repeat('x', $1)", {10'000'000})), "E_LIMIT");
  EXPECT_EQ(fate(query_with("SELECT length(repeat('x', $1))", {1000})), "ok");
  std::string large = "[" + std::string(60'000, ' ') + "1]";
  EXPECT_EQ(rows_of(query_with("SELECT value FROM json_each($1) WHERE type <> 'some other text'",
                               {large})),
            R"([["1"]])");
  EXPECT_EQ(rows_of(query_with("SELECT length($1)", {large})), "[[60003]]");
  EXPECT_EQ(fate(query_with("SELECT length($1 || a) FROM t", {large})), "ok");
  EXPECT_EQ(rows_of(query_with("SELECT length(s||s||s||s||s) FROM (SELECT $1 AS s)", {large})),
            "[[300015]]");
  EXPECT_EQ(rows_of(query_with("SELECT length($1)", {std::string(65'536, 'x')})), "[[65536]]");
  auto over = query_with("SELECT length($1)", {std::string(65'537, 'x')});
  EXPECT_EQ(fate(over), "E_LIMIT");
  EXPECT_TRUE(text_of(over).contains("params: each text")) << text_of(over);
  EXPECT_EQ(fate(query_with("SELECT * FROM read_csv($1)", {"t.csv"})), "E_POLICY");
}

TEST_F(SqlConnectorTest, arguments_are_checked_again) {
  struct Case {
    const char* name;
    Object args;
    const char* fate;
  };
  for (const Case& c : {
           Case{"no sql", {}, "E_SHAPE"},
           Case{"sql of another type", {{"sql", 1}}, "E_SHAPE"},
           Case{"unknown member", {{"sql", "SELECT 1"}, {"x", 1}}, "E_SHAPE"},
           Case{"limit 0", {{"sql", "SELECT 1"}, {"limit", 0}}, "E_SHAPE"},
           Case{"limit 1", {{"sql", "SELECT 1"}, {"limit", 1}}, "ok"},
           Case{"limit most", {{"sql", "SELECT 1"}, {"limit", 10'000}}, "ok"},
           Case{"limit over", {{"sql", "SELECT 1"}, {"limit", 10'001}}, "E_SHAPE"},
           Case{"format", {{"sql", "SELECT 1"}, {"format", "xml"}}, "E_SHAPE"},
           Case{"params no list", {{"sql", "SELECT 1"}, {"params", 1}}, "E_SHAPE"},
           Case{"NUL", {{"sql", std::string_view("SELECT 1\0x", 10)}}, "E_SHAPE"},
           Case{"long", {{"sql", std::string(65'537, ' ')}}, "E_LIMIT"},
           Case{"params over", {{"sql", "SELECT 1"}, {"params", Array(257, 1)}}, "E_LIMIT"},
       }) {
    EXPECT_EQ(fate(call("sql.query", c.args)), c.fate) << c.name;
  }
  EXPECT_EQ(fate(call("sql.nothing", {})), "E_TOOL");
  EXPECT_EQ(fate(call("sql.list_tables", {{"x", 1}})), "E_SHAPE");
}

TEST_F(SqlConnectorTest, says_when_rows_were_cut) {
  auto cut = call("sql.query", {{"sql", "SELECT i FROM range(5) r(i)"}, {"limit", 2}});
  EXPECT_EQ(cut->content.front().data,
            R"({"columns":[{"name":"i","type":"BIGINT"}],"rows":[[0],[1]],)"
            R"("row_count":2,"truncated":true})");
  auto whole = call("sql.query", {{"sql", "SELECT i FROM range(2) r(i)"}, {"limit", 2}});
  EXPECT_FALSE(whole->structured->at("truncated").as_bool());
}

TEST_F(SqlConnectorTest, answers_in_arrow_when_asked) {
  auto answer = call("sql.query", {{"sql", "SELECT a, b FROM t"}, {"format", "arrow"}});
  ASSERT_EQ(fate(answer), "ok") << text_of(answer);
  EXPECT_EQ(answer->content.front().media_type, "application/vnd.apache.arrow.stream");
  EXPECT_EQ(answer->structured->at("row_count").as_int64(), 3);
}

TEST_F(SqlConnectorTest, mistakes_are_told_in_the_engines_words) {
  for (const char* sql :
       {"SELECT no_such_column FROM t", "SELECT 1/0 + 'x'", "SELECT 1 +",
        "SELECT * FROM no_such_table", "SELECT CAST('x' AS INT)", "SELECT a FROM t GROUP BY b"}) {
    auto answer = query(sql);
    EXPECT_EQ(fate(answer), "mistake") << sql << text_of(answer);
    EXPECT_FALSE(text_of(answer).empty());
  }
  EXPECT_TRUE(text_of(query("SELECT no_such_column FROM t")).contains("no_such_column"));
  EXPECT_TRUE(text_of(query("SELECT * FROM read_text('x')")).contains("read_text"));
}

TEST_F(SqlConnectorTest, dry_runs_check_and_do_nothing) {
  Invocation dry = invocation("sql.query", {{"sql", kEndless}});
  dry.dry_run = true;
  EXPECT_EQ(fate(call(dry)), "ok");
  dry.args["sql"] = "SELECT nothing FROM t";
  EXPECT_EQ(fate(call(dry)), "mistake");
  dry.args["sql"] = "COPY t TO 'x'";
  EXPECT_EQ(fate(call(dry)), "E_POLICY");
}

TEST_F(SqlConnectorTest, ends_at_the_deadline) {
  for (const char* sql : {kEndless, kNoRows, kRecursion}) {
    Invocation late = invocation("sql.query", {{"sql", sql}});
    auto start = steady_clock::now();
    late.context.deadline = start + milliseconds(300);
    EXPECT_EQ(fate(call(late)), "E_TIMEOUT") << sql;
    EXPECT_LT(steady_clock::now() - start, seconds(10)) << sql;
  }
  Invocation over = invocation("sql.query", {{"sql", "SELECT 1"}});
  over.context.deadline = steady_clock::now() - seconds(1);
  EXPECT_EQ(fate(call(over)), "E_TIMEOUT");
}

TEST_F(SqlConnectorTest, ends_at_its_own_limit_of_time) {
  open({.time = milliseconds(2000)});  // Long enough to load the rows, under a sanitizer too.
  EXPECT_EQ(fate(query(kEndless)), "E_TIMEOUT");
  EXPECT_EQ(rows_of("SELECT 1"), "[[1]]");
}

TEST_F(SqlConnectorTest, ends_when_it_is_cancelled) {
  for (const char* sql : {kEndless, kNoRows}) {
    boost::asio::io_context loop(1);
    boost::asio::cancellation_signal signal;
    std::optional<Outcome<ToolResult>> answer;
    boost::asio::co_spawn(
        loop, connector->invoke(ApprovedForTest::make(invocation("sql.query", {{"sql", sql}})), {}),
        boost::asio::bind_cancellation_slot(
            signal.slot(), [&](std::exception_ptr error, Outcome<ToolResult> result) {
              EXPECT_FALSE(error);
              answer.emplace(std::move(result));
            }));
    boost::asio::steady_timer timer(loop, milliseconds(200));
    timer.async_wait([&](auto) { signal.emit(boost::asio::cancellation_type::terminal); });
    auto start = steady_clock::now();
    loop.run();
    ASSERT_TRUE(answer);
    EXPECT_EQ(fate(*answer), "E_CANCELLED") << sql << text_of(*answer);
    EXPECT_LT(steady_clock::now() - start, seconds(10));
  }
}

TEST_F(SqlConnectorTest, memory_ends_a_query_and_not_the_engine) {
  open({.memory_bytes = 64 << 20});
  for (const char* sql : {
           "SELECT count(*) FROM (SELECT i, hash(i) FROM range(50000000) r(i) ORDER BY 2, 1 "
           "OFFSET 1)",
           "SELECT len(list(i)) FROM range(100000000) r(i)",
           "WITH RECURSIVE a AS (SELECT 'x' s, 0 i UNION ALL SELECT s || s, i + 1 FROM a "
           "WHERE i < 40) SELECT max(length(s)) FROM a",
       }) {
    EXPECT_EQ(fate(query(sql)), "E_LIMIT") << sql;
  }
  EXPECT_EQ(rows_of("SELECT count(*) FROM t"), "[[3]]");
}

// What a statement makes beside what the engine counts is bounded by its process.
TEST_F(SqlConnectorTest, what_a_statement_takes_is_its_process_alone) {
  auto resident = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
    return 0L;
  };
  open({.memory_bytes = 64 << 20});
  long before = resident();
  for (const char* sql :
       {"SELECT length(repeat('x', 4000000000))", "SELECT len(range(1000000000))",
        "SELECT max(length(s || i)) FROM (SELECT string_agg(k::VARCHAR, '') s FROM range(10000000) "
        "t(k)), range(2048) u(i)",
        "SELECT max(length(repeat(s, 1000))) FROM (SELECT repeat('x', 100000) || i s FROM "
        "range(99) "
        "t(i))"}) {
    std::string end = fate(query(sql));
    EXPECT_TRUE(end == "E_LIMIT" || end == "E_UPSTREAM" || end == "E_TIMEOUT" || end == "ok" ||
                end == "mistake")
        << sql << ": " << end;
    EXPECT_EQ(rows_of("SELECT count(*) FROM t"), "[[3]]") << sql;
  }
  EXPECT_LT(resident() - before, 64 << 10);
}

TEST_F(SqlConnectorTest, tables_outlive_the_process_of_the_engine) {
  ASSERT_EQ(fate(call("sql.load", {{"file", "sub/deep.csv"}, {"table", "gone"}})), "ok");
  ASSERT_EQ(fate(call("sql.unload", {{"table", "gone"}})), "ok");
  // The engine's process is the only child of this one.
  std::filesystem::directory_iterator tasks("/proc/self/task");
  int killed = 0;
  for (const auto& task : tasks) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) {
      ASSERT_EQ(kill(child, SIGKILL), 0);
      ++killed;
    }
  }
  EXPECT_EQ(killed, 1);
  std::string first = rows_of("SELECT count(*) FROM t");
  // A call that the old process had taken is told, and is the last that is.
  EXPECT_TRUE(first == "[[3]]" || first.starts_with("E_UPSTREAM")) << first;
  EXPECT_EQ(rows_of("SELECT count(*) FROM t JOIN u USING (a)"), "[[2]]");
  EXPECT_EQ(call("sql.list_tables", {})->structured->at("tables").as_array().size(), 2u);
}

// The places themselves are the pipeline's, for every tool alike.
TEST_F(SqlConnectorTest, says_how_many_calls_may_run_at_once) {
  for (std::size_t calls : {1, 4}) {
    open({.calls = calls});
    EXPECT_EQ(connector->most_at_once(), calls);
  }
}

TEST_F(SqlConnectorTest, calls_side_by_side_are_answered_each) {
  boost::asio::io_context loop(1);
  std::vector<std::string> answers(8);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::string sql = "SELECT " + std::to_string(i) + " + count(*) FROM range(100000)";
    boost::asio::co_spawn(
        loop, connector->invoke(ApprovedForTest::make(invocation("sql.query", {{"sql", sql}})), {}),
        [&, i](std::exception_ptr, Outcome<ToolResult> result) { answers[i] = rows_of(result); });
  }
  loop.run();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i], "[[" + std::to_string(100'000 + i) + "]]");
  }
}

TEST_F(SqlConnectorTest, unloads_a_table_and_gives_its_place_and_memory_back) {
  open({.memory_bytes = 64 << 20, .tables = 3});
  write(data + "/wide.csv", "x\n" + std::string(1'000'000, 'y') + "\n");
  Object load{{"file", "wide.csv"}, {"table", "wide"}};
  ASSERT_EQ(fate(call("sql.load", load)), "ok");
  EXPECT_EQ(fate(call("sql.load", {{"file", "u.csv"}, {"table", "more"}})), "E_LIMIT");
  Invocation dry = invocation("sql.unload", {{"table", "WIDE"}});
  dry.dry_run = true;
  EXPECT_EQ(fate(call(dry)), "ok");
  EXPECT_EQ(rows_of("SELECT length(x) FROM wide"), "[[1000000]]");
  auto unloaded = call("sql.unload", {{"table", "WIDE"}});
  ASSERT_EQ(fate(unloaded), "ok") << text_of(unloaded);
  EXPECT_EQ(unloaded->structured->at("file").as_string(), "wide.csv");
  EXPECT_EQ(fate(query("SELECT * FROM wide")), "mistake");
  EXPECT_EQ(fate(call("sql.unload", {{"table", "wide"}})), "mistake");
  EXPECT_EQ(fate(call("sql.unload", {{"table", "duckdb_x"}})), "E_SHAPE");
  EXPECT_EQ(call("sql.list_tables", {})->structured->at("tables").as_array().size(), 2u);
  // Again and again: what is unloaded is gone from memory.
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(fate(call("sql.load", load)), "ok") << i;
    ASSERT_EQ(fate(call("sql.unload", {{"table", "wide"}})), "ok") << i;
  }
}

TEST_F(SqlConnectorTest, what_is_no_regular_file_is_not_opened) {
  ASSERT_EQ(mkfifo((data + "/pipe.csv").c_str(), 0600), 0);
  std::filesystem::create_directory(data + "/folder.csv");
  open({.allow_raw_file_sql = true});
  for (const char* file : {"pipe.csv", "folder.csv"}) {
    auto loaded = call("sql.load", {{"file", file}, {"table", "x"}});
    EXPECT_EQ(fate(loaded), "mistake") << text_of(loaded);
    EXPECT_TRUE(text_of(loaded).contains(file)) << text_of(loaded);
    EXPECT_TRUE(text_of(loaded).contains("not a regular file")) << text_of(loaded);
    auto read = query(std::string("SELECT * FROM '") + file + "'");
    EXPECT_EQ(fate(read), "mistake") << text_of(read);
    EXPECT_TRUE(text_of(read).contains("not a regular file")) << text_of(read);
  }
  EXPECT_EQ(rows_of("SELECT count(*) FROM 't.csv'"), "[[3]]");
}

TEST_F(SqlConnectorTest, external_access_takes_the_fence_away_and_not_the_screen) {
  auto linked = call("sql.load", {{"file", "link.csv"}, {"table", "x"}});
  EXPECT_EQ(fate(linked), "E_POLICY") << text_of(linked);
  open({.enable_external_access = true, .allow_raw_file_sql = true});
  EXPECT_EQ(fate(call("sql.load", {{"file", "link.csv"}, {"table", "x"}})), "ok");
  for (const char* sql : {"FROM '{out}/o.csv'", "FROM read_text('{out}/o.csv')",
                          "FROM '../outside/o.csv'", "FROM read_csv('http://127.0.0.1:1/x.csv')"}) {
    EXPECT_EQ(fate(query(placed(sql))), "E_POLICY") << sql;
  }
}

TEST_F(SqlConnectorTest, tells_how_far_a_long_call_is) {
  std::vector<double> told;
  auto here = std::this_thread::get_id();
  Invocation late = invocation("sql.query", {{"sql", kEndless}});
  late.context.deadline = steady_clock::now() + milliseconds(1800);
  auto answer = call(std::move(late), [&](double done, std::optional<double>, std::string) {
    EXPECT_TRUE(std::this_thread::get_id() == here);
    told.push_back(done);
  });
  EXPECT_EQ(fate(answer), "E_TIMEOUT");
  EXPECT_GE(told.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(told));
}

TEST_F(SqlConnectorTest, deep_and_wide_statements_do_no_harm) {
  auto nested = [](const char* open, int times, const char* close) {
    std::string text = "SELECT ";
    for (int i = 0; i < times; ++i) text += open;
    text += "1";
    for (int i = 0; i < times; ++i) text += close;
    return text;
  };
  for (const std::string& sql :
       {nested("(", 30'000, ")"), nested("(SELECT ", 900, ")"), nested("NOT ", 10'000, ""),
        nested("[", 900, "]"), nested("abs(", 900, ")"),
        nested("CASE WHEN true THEN ", 900, " END"), nested("1 + ", 900, ""),
        nested("1 + ", 10'000, ""), nested("(", 900, ")::INT"), nested("1, ", 15'000, "")}) {
    // Any answer but a crash; refusals are of size.
    std::string end = fate(query(sql));
    EXPECT_TRUE(end == "ok" || end == "mistake" || end == "E_LIMIT" || end == "E_POLICY") << end;
  }
  std::string unions = "SELECT 1";
  for (int i = 0; i < 3000; ++i) unions += " UNION ALL SELECT 1";
  EXPECT_NE(fate(query(unions)), "E_INTERNAL");
  EXPECT_EQ(rows_of("SELECT 1"), "[[1]]");
}

}  // namespace
}  // namespace tool::connectors
