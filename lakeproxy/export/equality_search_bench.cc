// An equality delete on 100 files of 100,000 rows in a store of this machine,
// and beside it what the engine alone takes to find the same rows in the same
// files on this machine's disk, with as many threads.

#include <benchmark/benchmark.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/duckdb/engine.h"
#include "base/duckdb/sql_text.h"
#include "base/testing/child_process.h"
#include "base/testing/minio_server.h"
#include "lakeproxy/export/exporter.h"
#include "lakeproxy/export/files/scratch.h"

namespace lake::exporter {
namespace {

using base::testing::MinioServer;

constexpr int kFiles = 100;
constexpr int kRows = 100'000;
constexpr int kKeys = 10'000;
constexpr unsigned kThreads = 2;

template <class T>
T value_or_exit(base::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s %s\n", result.error().message().c_str(),
                 result.error().detail().c_str());
    std::abort();
  }
  return std::move(*result);
}

std::unique_ptr<base::duckdb::Engine> open_engine(const std::string& folder, unsigned threads) {
  base::duckdb::EngineOptions options;
  options.threads = threads;
  options.scratch_dir = folder;
  return value_or_exit(base::duckdb::Engine::open(std::move(options)));
}

class Lake {
 public:
  Lake() {
    objects::StoreOptions options;
    options.endpoint = minio_.endpoint();
    options.bucket = "bench";
    options.access_key = MinioServer::kAccessKey;
    options.secret_key = base::Secret(MinioServer::kSecretKey);
    store_ = value_or_exit(objects::ObjectStore::create(std::move(options), clock_, random_));
    exporter_.emplace(*engine_, blocking_, *store_);
    if (!run(store_->create_bucket({}))) std::abort();
    for (int i = 0; i < kFiles; ++i) add_data(i);
    deletes_ =
        add("keys.parquet", "SELECT (hash(i) % " + std::to_string(kFiles * kRows) +
                                ")::BIGINT AS id FROM range(" + std::to_string(kKeys) + ") r(i)");
    deletes_.content = model::FileContent::kEqualityDeletes;
    deletes_.equality_ids = {1};
  }

  // Ids in no order, so that statistics rule no file out.
  void add_data(int number) {
    std::string name = "data-" + std::to_string(number) + ".parquet";
    std::string first = std::to_string(std::int64_t{number} * kRows);
    Candidate candidate;
    candidate.file =
        add(name, "SELECT ((i + " + first + ") * 7919 % " + std::to_string(kFiles * kRows) +
                      ")::BIGINT AS id, hash(i)::VARCHAR AS name, (hash(i, 1) % 1000)::INTEGER AS "
                      "amount, (hash(i, 2) / 3)::DOUBLE AS ratio FROM range(" +
                      std::to_string(kRows) + ") r(i)");
    candidate.deletes = {0};
    candidates_.push_back(std::move(candidate));
  }

  std::size_t find() {
    EqualitySearch search{.prefix = value_or_exit(objects::Location::parse("s3://bench/lake")),
                          .schema = {},
                          .deletes = {deletes_},
                          .candidates = candidates_};
    model::Field id;
    id.id = 1;
    id.name = "id";
    id.type = model::Type(model::TypeKind::kLong);
    search.schema.fields.push_back(std::move(id));
    std::size_t count = 0;
    auto found = value_or_exit(run(exporter_->find_equal({}, std::move(search))));
    for (const auto& [file, positions] : found) count += positions.size();
    return count;
  }

  // The whole files, from disk, with threads of the engine's own.
  std::size_t find_with_engine_alone() {
    auto connection = value_or_exit(alone_->connect());
    auto rows = value_or_exit(connection.execute(
        "SELECT d.filename, CAST(d.file_row_number AS BIGINT) FROM read_parquet(" +
        base::duckdb::quote_literal(files_.path() + "/data-*.parquet") +
        ", file_row_number = true, filename = true) d SEMI JOIN read_parquet(" +
        base::duckdb::quote_literal(files_.path() + "/keys.parquet") + ") k ON d.id = k.id"));
    std::size_t count = 0;
    while (value_or_exit(rows.next())) ++count;
    return count;
  }

 private:
  model::DataFile add(const std::string& name, const std::string& query) {
    auto connection = value_or_exit(alone_->connect());
    std::string path = files_.path() + "/" + name;
    value_or_exit(connection.execute("COPY (" + query + ") TO " +
                                     base::duckdb::quote_literal(path) +
                                     " (FORMAT parquet, FIELD_IDS {id: 1})"));
    std::string bytes = value_or_exit(read_file(path));
    model::DataFile file;
    file.file_path = "s3://bench/lake/" + name;
    file.file_size_in_bytes = static_cast<std::int64_t>(bytes.size());
    auto key = value_or_exit(objects::ObjectKey::parse("lake/" + name));
    if (!run(store_->put({}, key, base::http::Body(std::move(bytes)), "text/plain"))) std::abort();
    return file;
  }
  template <class T>
  T run(base::Task<T> task) {
    auto future = boost::asio::co_spawn(loop_, std::move(task), boost::asio::use_future);
    loop_.restart();
    loop_.run();
    return future.get();
  }

  MinioServer minio_ = value_or_exit(MinioServer::start());
  base::testing::TemporaryFolder scratch_;
  base::testing::TemporaryFolder files_;
  std::unique_ptr<base::duckdb::Engine> engine_ = open_engine(scratch_.path(), 1);
  std::unique_ptr<base::duckdb::Engine> alone_ = open_engine(files_.path(), kThreads);
  base::SystemClock clock_;
  base::SystemRandom random_;
  base::BlockingPool blocking_{kThreads};
  boost::asio::io_context loop_{1};
  std::unique_ptr<objects::ObjectStore> store_;
  model::DataFile deletes_;
  std::vector<Candidate> candidates_;
  std::optional<Exporter> exporter_;
};

Lake& lake() {
  static Lake made;
  return made;
}

void find_equal(benchmark::State& state) {
  lake();
  for (auto _ : state) state.counters["rows"] = static_cast<double>(lake().find());
}

void engine_alone(benchmark::State& state) {
  lake();
  for (auto _ : state) {
    state.counters["rows"] = static_cast<double>(lake().find_with_engine_alone());
  }
}

BENCHMARK(find_equal)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(engine_alone)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace lake::exporter
