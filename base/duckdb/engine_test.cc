#include "base/duckdb/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/duckdb/errors.h"
#include "base/duckdb/sql_text.h"
#include "base/testing/child_process.h"

namespace base::duckdb {
namespace {

using std::chrono::steady_clock;

template <class T>
ErrorKind kind_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  if (result) return ErrorKind::kOutcomeUnknown;
  return result.error().kind();
}

// Would run for many minutes.
constexpr const char* kEndless =
    "SELECT sum((a.i + b.i) % 7) FROM range(10000000) a(i), range(10000) b(i)";

class EngineTest : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> open(std::uint64_t memory_bytes = 64 << 20, unsigned threads = 1) {
    auto engine = Engine::open({.memory_bytes = memory_bytes,
                                .threads = threads,
                                .scratch_dir = folder.path(),
                                .scratch_bytes = 1 << 20});
    EXPECT_TRUE(engine) << engine.error().message() << engine.error().detail();
    return std::move(*engine);
  }
  Connection connect(Engine& engine) {
    auto connection = engine.connect();
    EXPECT_TRUE(connection);
    return std::move(*connection);
  }

  testing::TemporaryFolder folder;
};

std::int64_t one_number(Connection& connection, std::string_view sql) {
  auto rows = connection.execute(sql);
  EXPECT_TRUE(rows) << sql << rows.error().detail();
  EXPECT_TRUE(*rows->next());
  return rows->int64(0);
}

TEST_F(EngineTest, refuses_options_out_of_range) {
  struct Case {
    const char* name;
    EngineOptions options;
  };
  for (const Case& c : {
           Case{"memory", {.memory_bytes = (16 << 20) - 1, .scratch_dir = folder.path()}},
           Case{"no threads", {.threads = 0, .scratch_dir = folder.path()}},
           Case{"threads", {.threads = 257, .scratch_dir = folder.path()}},
           Case{"relative", {.scratch_dir = "."}},
           Case{"missing", {.scratch_dir = folder.path() + "/none"}},
           Case{"empty", {.scratch_dir = ""}},
       }) {
    EXPECT_EQ(kind_of(Engine::open(c.options)), ErrorKind::kInvalid) << c.name;
  }
}

TEST_F(EngineTest, gives_back_parameters_of_every_type) {
  auto engine = open();
  Connection connection = connect(*engine);
  std::string text("t\0\xc3\xa4", 4);
  std::string blob("\0\xff\0'", 4);
  auto statement = connection.prepare("SELECT $1::BIGINT, $2::DOUBLE::VARCHAR, $3, $4, $5::BLOB");
  ASSERT_TRUE(statement) << statement.error().detail();
  for (std::int64_t number : {INT64_MIN, std::int64_t{0}, INT64_MAX}) {
    std::vector<Param> params{number, -1.5e300, Text{text}, Blob{blob}, Null{}};
    auto rows = statement->execute(params);
    ASSERT_TRUE(rows) << rows.error().detail();
    ASSERT_TRUE(*rows->next());
    EXPECT_EQ(rows->int64(0), number);
    EXPECT_EQ(rows->bytes(1), "-1.5e+300");
    EXPECT_EQ(rows->bytes(2), text);
    EXPECT_EQ(rows->bytes(3), blob);
    EXPECT_TRUE(rows->is_null(4));
    EXPECT_FALSE(rows->is_null(0));
    EXPECT_FALSE(*rows->next());
    EXPECT_FALSE(*rows->next());
  }
}

TEST_F(EngineTest, reads_results_of_many_chunks_in_order) {
  auto engine = open();
  Connection connection = connect(*engine);
  for (std::int64_t count : {0, 1, 2047, 2048, 2049, 10'000}) {
    std::vector<Param> params{count};
    auto rows = connection.execute("SELECT i, i::VARCHAR FROM range($1) r(i)", params);
    ASSERT_TRUE(rows);
    std::int64_t seen = 0;
    while (*rows->next()) {
      ASSERT_EQ(rows->int64(0), seen);
      ASSERT_EQ(rows->bytes(1), std::to_string(seen));
      ++seen;
    }
    EXPECT_EQ(seen, count);
  }
}

TEST_F(EngineTest, appends_rows) {
  auto engine = open();
  Connection connection = connect(*engine);
  ASSERT_TRUE(connection.execute("CREATE TEMP TABLE t (a BIGINT, b VARCHAR, c BLOB, d DOUBLE)"));
  auto appender = connection.append_to("t");
  ASSERT_TRUE(appender) << appender.error().detail();
  std::vector<Param> row{std::int64_t{1}, Text{"x"}, Blob{std::string_view("\0", 1)}, 0.5};
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(appender->append(row));
  EXPECT_EQ(kind_of(appender->append(std::span(row).first(3))), ErrorKind::kInvalid);
  row[1] = Text{"\xff"};
  EXPECT_EQ(kind_of(appender->append(row)), ErrorKind::kInvalid);
  row = {Null{}, Null{}, Null{}, Null{}};
  ASSERT_TRUE(appender->append(row));
  ASSERT_TRUE(appender->finish());
  EXPECT_EQ(one_number(connection, "SELECT count(*) FROM t"), 5001);
  EXPECT_EQ(one_number(connection, "SELECT sum(octet_length(c))::BIGINT FROM t"), 5000);
  EXPECT_EQ(kind_of(connection.append_to("none")), ErrorKind::kInvalid);
}

TEST_F(EngineTest, names_errors_by_kind) {
  auto engine = open();
  Connection connection = connect(*engine);
  struct Case {
    const char* sql;
    ErrorKind kind;
  };
  for (const Case& c : {
           Case{"SELEC 1", ErrorKind::kInvalid},
           Case{"", ErrorKind::kInvalid},
           Case{"SELECT 1; SELECT 2", ErrorKind::kInvalid},
           Case{"SELECT * FROM none", ErrorKind::kInvalid},
           Case{"SELECT none(1)", ErrorKind::kInvalid},
           Case{"SELECT 'x'::BIGINT", ErrorKind::kInvalid},
           Case{"SELECT 9223372036854775807 + 1::BIGINT", ErrorKind::kInvalid},
           Case{"SELECT $1", ErrorKind::kInvalid},
           Case{"SELECT error('x')", ErrorKind::kInvalid},
       }) {
    EXPECT_EQ(kind_of(connection.execute(c.sql)), c.kind) << c.sql;
  }
  EXPECT_EQ(kind_of(connection.execute(std::string_view("SELECT 1\0", 9))), ErrorKind::kInvalid);
  std::vector<Param> bad{Text{"\xc0\x80"}};
  EXPECT_EQ(kind_of(connection.execute("SELECT $1", bad)), ErrorKind::kInvalid);
  EXPECT_EQ(one_number(connection, "SELECT 1::BIGINT"), 1) << "still works after errors";
}

TEST_F(EngineTest, keeps_to_its_memory_and_scratch_space) {
  auto engine = open(32 << 20);
  Connection connection = connect(*engine);
  EXPECT_EQ(kind_of(connection.execute("CREATE TEMP TABLE big AS SELECT i, hash(i)::VARCHAR || "
                                       "hash(i + 1)::VARCHAR FROM range(5000000) r(i)")),
            ErrorKind::kTooLarge);
  EXPECT_EQ(one_number(connection, "SELECT 1::BIGINT"), 1);
}

TEST_F(EngineTest, reaches_its_scratch_folder_only) {
  testing::TemporaryFolder other;
  std::string secret = other.path() + "/secret";
  std::ofstream(secret) << "secret";
  auto engine = open();
  Connection connection = connect(*engine);
  std::string inside = quote_literal(folder.path() + "/inside.parquet");
  ASSERT_TRUE(connection.execute("COPY (SELECT 1 AS a) TO " + inside + " (FORMAT parquet)"));
  EXPECT_EQ(one_number(connection, "SELECT count(*) FROM read_parquet(" + inside + ")"), 1);

  std::string name = std::filesystem::path(other.path()).filename();
  for (const std::string& sql : {
           "SELECT * FROM read_text(" + quote_literal(secret) + ")",
           "SELECT * FROM read_blob(" + quote_literal(secret) + ")",
           "SELECT * FROM " + quote_identifier(secret + ".csv"),
           "SELECT * FROM read_csv(" + quote_literal(secret) + ")",
           "SELECT * FROM read_text(" + quote_literal(folder.path() + "/../" + name + "/secret") +
               ")",
           "SELECT * FROM read_text(" + quote_literal("file://" + secret) + ")",
           "SELECT * FROM glob(" + quote_literal(other.path() + "/*") + ")",
           "COPY (SELECT 1) TO " + quote_literal(other.path() + "/out.csv"),
           "COPY (SELECT 1) TO " + quote_literal(folder.path() + "x.csv"),
           "ATTACH " + quote_literal(other.path() + "/db"),
           "EXPORT DATABASE " + quote_literal(other.path() + "/dump"),
           std::string("SELECT * FROM read_parquet('http://127.0.0.1:9/x.parquet')"),
           std::string("SELECT * FROM read_text('/proc/self/environ')"),
       }) {
    EXPECT_EQ(kind_of(connection.execute(sql)), ErrorKind::kForbidden) << sql;
  }
  EXPECT_FALSE(std::filesystem::exists(other.path() + "/out.csv"));
  EXPECT_FALSE(std::filesystem::exists(other.path() + "/db"));
}

TEST_F(EngineTest, loads_no_extension) {
  auto engine = open();
  Connection connection = connect(*engine);
  for (std::string sql :
       {"LOAD httpfs", "INSTALL httpfs", "INSTALL httpfs FROM community",
        "LOAD '/usr/lib/x.duckdb_extension'", "FORCE INSTALL ducklake", "UPDATE EXTENSIONS"}) {
    EXPECT_FALSE(connection.execute(sql)) << sql;
  }
}

TEST_F(EngineTest, changes_no_setting) {
  auto engine = open();
  Connection connection = connect(*engine);
  for (std::string sql : {
           "SET memory_limit = '10GB'",
           "SET GLOBAL threads = 8",
           "RESET threads",
           "PRAGMA threads = 8",
           "SET SESSION TimeZone = 'CET'",
           "SET enable_external_access = true",
           "SET allowed_directories = ['/']",
           "SET allowed_paths = ['/etc/passwd']",
           "SET lock_configuration = false",
           "RESET lock_configuration",
           "SET temp_directory = '/'",
           "SET allow_unsigned_extensions = true",
       }) {
    EXPECT_FALSE(connection.execute(sql)) << sql;
  }
  EXPECT_EQ(one_number(connection, "SELECT current_setting('threads')::BIGINT"), 1);
}

TEST_F(EngineTest, ends_statements_at_the_deadline) {
  for (unsigned threads : {1U, 2U}) {
    auto engine = open(64 << 20, threads);
    Connection connection = connect(*engine);
    auto begin = steady_clock::now();
    connection.set_deadline(begin + std::chrono::milliseconds(50));
    EXPECT_EQ(kind_of(connection.execute(kEndless)), ErrorKind::kTimeout);
    EXPECT_EQ(kind_of(connection.execute("SELECT 1")), ErrorKind::kTimeout);
    connection.set_deadline(steady_clock::time_point::max());
    EXPECT_EQ(one_number(connection, "SELECT 1::BIGINT"), 1);
  }
}

TEST_F(EngineTest, is_interrupted_from_another_thread) {
  auto engine = open();
  Connection connection = connect(*engine);
  std::atomic<bool> done = false;
  std::thread other([&] {
    // Until it takes effect: an interrupt of a statement that has not begun is lost.
    while (!done) {
      connection.interrupt();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(kind_of(connection.execute(kEndless)), ErrorKind::kCancelled);
  done = true;
  other.join();
  EXPECT_EQ(one_number(connection, "SELECT 1::BIGINT"), 1);
}

TEST_F(EngineTest, connections_do_not_see_each_others_temporary_tables) {
  auto engine = open();
  Connection first = connect(*engine);
  Connection second = connect(*engine);
  ASSERT_TRUE(first.execute("CREATE TEMP TABLE t AS SELECT 1 AS a"));
  EXPECT_EQ(kind_of(second.execute("SELECT * FROM t")), ErrorKind::kInvalid);
}

TEST(EngineErrorsTest, tell_apart_what_ends_the_database) {
  EXPECT_EQ(engine_error(error_class("INTERNAL Error: x"), "INTERNAL Error: x").kind(),
            ErrorKind::kInternal);
  EXPECT_EQ(engine_error(error_class("INTERNAL Error: x"), "INTERNAL Error: x").reason(),
            kEngineEnded);
  EXPECT_EQ(engine_error(error_class("IO Error: x"), "IO Error: x").reason(), "");
  EXPECT_TRUE(ends_database(error_class("INTERNAL Error: x")));
  EXPECT_TRUE(ends_database(error_class("FATAL Error: x")));
  EXPECT_FALSE(ends_database(error_class("IO Error: x")));
  EXPECT_FALSE(ends_database(error_class("")));
}

TEST_F(EngineTest, connections_outlive_the_engine) {
  auto engine = open();
  Connection connection = connect(*engine);
  engine.reset();
  EXPECT_EQ(one_number(connection, "SELECT 1::BIGINT"), 1);
}

TEST_F(EngineTest, opening_statements_run_before_the_doors_close) {
  auto engine = Engine::open({.scratch_dir = folder.path(),
                              .opening = {Secret("SET GLOBAL threads = 1"),
                                          Secret("CREATE TABLE made AS SELECT 7::BIGINT AS a")},
                              .allowed_places = {"s3://bucket/prefix/"}});
  ASSERT_TRUE(engine) << engine.error().detail();
  Connection connection = connect(**engine);
  EXPECT_EQ(one_number(connection, "SELECT a FROM made"), 7);
  EXPECT_FALSE(connection.execute("SET GLOBAL threads = 2"));
  EXPECT_EQ(kind_of(connection.execute("SELECT * FROM read_text('/etc/passwd')")),
            ErrorKind::kForbidden);
}

TEST_F(EngineTest, an_opening_statement_that_fails_is_not_repeated) {
  auto engine = Engine::open(
      {.scratch_dir = folder.path(),
       .opening = {Secret("CREATE SECRET s (TYPE nothing, PASSWORD 'hunter2', SCOPE 1 2)")}});
  ASSERT_FALSE(engine);
  EXPECT_FALSE(engine.error().detail().empty());
  EXPECT_THAT(std::string(engine.error().detail()),
              ::testing::Not(::testing::HasSubstr("hunter2")));
}

TEST(SqlTextTest, quotes_cannot_be_ended_from_inside) {
  EXPECT_EQ(quote_identifier("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(quote_identifier(""), "\"\"");
  EXPECT_EQ(quote_literal("a'b\\"), "'a''b\\'");
  EXPECT_EQ(quote_literals({"a", "b'c"}), "['a', 'b''c']");
  EXPECT_EQ(quote_literals({}), "[]");
}

}  // namespace
}  // namespace base::duckdb
