#include "base/duckdb/stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/duckdb/engine.h"
#include "base/testing/child_process.h"

namespace base::duckdb {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() {
    auto opened = Engine::open({.memory_bytes = 64 << 20, .scratch_bytes = 0});
    EXPECT_TRUE(opened) << opened.error().message();
    engine = std::move(*opened);
    connection.emplace(std::move(*engine->connect()));
  }

  std::unique_ptr<Engine> engine;
  std::optional<Connection> connection;
};

TEST_F(StreamTest, gives_all_rows_of_a_result_larger_than_memory) {
  auto statement = connection->prepare("SELECT i, repeat('x', 1000) FROM range(200000) r(i)");
  ASSERT_TRUE(statement);
  EXPECT_TRUE(statement->is_select());
  auto stream = statement->stream({});
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->names().size(), 2u);
  EXPECT_EQ(duckdb_get_type_id(stream->types()[0]), DUCKDB_TYPE_BIGINT);
  std::size_t rows = 0;
  for (;;) {
    auto chunk = stream->next();
    ASSERT_TRUE(chunk) << chunk.error().detail();
    if (*chunk == nullptr) break;
    rows += duckdb_data_chunk_get_size(*chunk);
  }
  EXPECT_EQ(rows, 200'000u);
}

TEST_F(StreamTest, ends_at_the_deadline_and_when_interrupted) {
  const char* endless =
      "SELECT a.i FROM range(1000000000) a(i), range(100000) b(i) WHERE a.i + b.i = -1";
  connection->set_deadline(steady_clock::now() + milliseconds(100));
  auto statement = connection->prepare(endless);
  ASSERT_TRUE(statement);
  std::jthread stopper([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(milliseconds(150));
      connection->interrupt();
    }
  });
  auto stream = statement->stream({});
  ErrorKind kind = ErrorKind::kInternal;
  if (stream) {
    auto chunk = stream->next();
    ASSERT_FALSE(chunk);
    kind = chunk.error().kind();
  } else {
    kind = stream.error().kind();
  }
  EXPECT_EQ(kind, ErrorKind::kTimeout);
}

TEST_F(StreamTest, binds_booleans_and_large_numbers) {
  auto rows = connection->execute("SELECT ($1 AND $2 = 18446744073709551615)::INT::BIGINT",
                                  std::vector<Param>{Boolean{true}, Unsigned{UINT64_MAX}});
  ASSERT_TRUE(rows) << rows.error().detail();
  ASSERT_TRUE(*rows->next());
  EXPECT_EQ(rows->int64(0), 1);
}

TEST_F(StreamTest, counts_statements) {
  EXPECT_EQ(*connection->count_statements("SELECT 1"), 1u);
  EXPECT_EQ(*connection->count_statements("SELECT 1; SELECT 2;"), 2u);
  EXPECT_EQ(*connection->count_statements(""), 0u);
  EXPECT_FALSE(connection->count_statements("SELECT '"));
  EXPECT_FALSE(connection->count_statements(std::string_view("SELECT 1\0", 9)));
}

TEST_F(StreamTest, tells_progress_only_of_what_runs) {
  EXPECT_TRUE(connection->track_progress());
  EXPECT_FALSE(connection->progress().has_value());
  ASSERT_TRUE(connection->execute("CREATE TABLE n AS SELECT i FROM range(2000000) r(i)"));
  bool told = false;
  std::jthread looker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      auto part = connection->progress();
      if (part && *part > 0 && *part < 1) told = true;
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  EXPECT_TRUE(connection->execute("SELECT sum(sin(i) + cos(i) + tan(i) + exp(sin(i))) FROM n"));
  looker.request_stop();
  looker.join();
  EXPECT_TRUE(told);
}

TEST_F(StreamTest, an_engine_without_folders_reaches_no_file) {
  testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/x.csv") << "a\n1\n";
  EXPECT_FALSE(connection->execute("SELECT * FROM '" + folder.path() + "/x.csv'"));
  EXPECT_FALSE(connection->execute("COPY (SELECT 1) TO '" + folder.path() + "/y.csv'"));
  EXPECT_FALSE(connection->execute("SELECT * FROM glob('/*')"));
}

TEST_F(StreamTest, a_data_folder_is_the_only_one) {
  testing::TemporaryFolder inside;
  testing::TemporaryFolder outside;
  std::ofstream(inside.path() + "/x.csv") << "a\n1\n";
  std::ofstream(outside.path() + "/x.csv") << "a\n1\n";
  auto fenced = Engine::open({.scratch_bytes = 0, .data_dir = inside.path()});
  ASSERT_TRUE(fenced) << fenced.error().message();
  auto with = (*fenced)->connect();
  EXPECT_TRUE(with->execute("SELECT * FROM '" + inside.path() + "/x.csv'"));
  EXPECT_FALSE(with->execute("SELECT * FROM '" + outside.path() + "/x.csv'"));
  EXPECT_FALSE(with->execute("SELECT * FROM '" + inside.path() + "/../x.csv'"));
  for (std::string_view url : {"http://127.0.0.1:9/x.csv", "https://127.0.0.1:9/x.csv",
                               "s3://bucket/x.csv", "hf://datasets/a/b/x.csv"}) {
    auto reached = with->execute(fmt::format("SELECT * FROM read_csv('{}')", url));
    ASSERT_FALSE(reached) << url;
    EXPECT_EQ(reached.error().kind(), ErrorKind::kForbidden) << url << reached.error().detail();
  }
  // What a larger sort would want is not there.
  EXPECT_FALSE(with->execute("SELECT * FROM glob('.tmp/*')"));
  EXPECT_FALSE(Engine::open({.scratch_dir = outside.path(), .data_dir = inside.path()}));
  EXPECT_FALSE(Engine::open({.data_dir = "relative"}));
  auto open = Engine::open(
      {.scratch_bytes = 0, .data_dir = inside.path(), .external_access = ExternalAccess::kOpen});
  ASSERT_TRUE(open);
  EXPECT_TRUE((*open)->connect()->execute("SELECT * FROM '" + outside.path() + "/x.csv'"));
  EXPECT_FALSE((*open)->connect()->execute("SET threads = 3"));
}

}  // namespace
}  // namespace base::duckdb
