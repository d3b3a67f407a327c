// An equality delete on 100 files of 100,000 rows in a store of this machine,
// and beside it what the engine alone takes to find the same rows in the same
// files, with as many threads: in that store, where a lake has them, and on
// this machine's disk, which is the floor.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/duckdb/engine.h"
#include "base/duckdb/sql_text.h"
#include "base/testing/child_process.h"
#include "base/testing/minio_server.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/engine/files/scratch.h"

namespace lake::exporter {
namespace {

using base::testing::MinioServer;

constexpr int kFiles = 100;
constexpr int kRows = 100'000;
constexpr int kKeys = 10'000;
constexpr unsigned kThreads = 2;
constexpr const char* kPlace = "s3://bench/lake/";

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

// A commit sees each file for the first time, so the engine keeps none either.
std::unique_ptr<base::duckdb::Engine> open_engine_of_store(const std::string& endpoint) {
  const char* extensions = std::getenv("TEST_ENGINE_EXTENSIONS");
  if (extensions == nullptr) {
    std::fputs("TEST_ENGINE_EXTENSIONS is not set\n", stderr);
    std::abort();
  }
  std::string_view host = std::string_view(endpoint).substr(endpoint.find("://") + 3);
  base::duckdb::EngineOptions options;
  options.threads = kThreads;
  options.scratch_bytes = 0;
  options.extensions = {std::string(extensions) + "/httpfs.duckdb_extension"};
  options.opening.emplace_back("SET GLOBAL enable_external_file_cache = false");
  options.opening.emplace_back(fmt::format(
      "CREATE SECRET store (TYPE s3, KEY_ID {}, SECRET {}, ENDPOINT {}, URL_STYLE 'path', USE_SSL "
      "false)",
      base::duckdb::quote_literal(MinioServer::kAccessKey),
      base::duckdb::quote_literal(MinioServer::kSecretKey), base::duckdb::quote_literal(host)));
  options.allowed_places = {kPlace};
  return value_or_exit(base::duckdb::Engine::open(std::move(options)));
}

class Lake {
 public:
  Lake() {
    storage::StoreOptions options;
    options.endpoint = minio_.endpoint();
    options.bucket = "bench";
    options.access_key = MinioServer::kAccessKey;
    options.secret_key = base::Secret(MinioServer::kSecretKey);
    store_ = value_or_exit(storage::ObjectStore::create(std::move(options), clock_, random_));
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
    std::string first = std::to_string(std::int64_t{number} * kRows);
    Candidate candidate;
    candidate.file =
        add(data_name(number),
            "SELECT ((i + " + first + ") * 7919 % " + std::to_string(kFiles * kRows) +
                ")::BIGINT AS id, hash(i)::VARCHAR AS name, (hash(i, 1) % 1000)::INTEGER AS "
                "amount, (hash(i, 2) / 3)::DOUBLE AS ratio FROM range(" +
                std::to_string(kRows) + ") r(i)");
    candidate.deletes = {0};
    candidates_.push_back(std::move(candidate));
  }

  std::size_t find() {
    EqualitySearch search{.prefix = value_or_exit(storage::Location::parse("s3://bench/lake")),
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

  std::size_t find_with_engine_in_store() { return find_with_engine(*in_store_, kPlace); }
  std::size_t find_with_engine_on_disk() {
    return find_with_engine(*on_disk_, files_.path() + "/");
  }

 private:
  // With threads of the engine's own. The files are named, as a lake names them.
  std::size_t find_with_engine(base::duckdb::Engine& engine, const std::string& place) {
    std::string names;
    for (int i = 0; i < kFiles; ++i) {
      names += (i == 0 ? "" : ", ") + base::duckdb::quote_literal(place + data_name(i));
    }
    auto connection = value_or_exit(engine.connect());
    auto rows = value_or_exit(connection.execute(fmt::format(
        "SELECT d.filename, CAST(d.file_row_number AS BIGINT) FROM read_parquet([{}], "
        "file_row_number = true, filename = true) d SEMI JOIN read_parquet({}) k ON d.id = k.id",
        names, base::duckdb::quote_literal(place + "keys.parquet"))));
    std::size_t count = 0;
    while (value_or_exit(rows.next())) ++count;
    return count;
  }

  static std::string data_name(int number) { return fmt::format("data-{}.parquet", number); }

  model::DataFile add(const std::string& name, const std::string& query) {
    auto connection = value_or_exit(on_disk_->connect());
    std::string path = files_.path() + "/" + name;
    value_or_exit(connection.execute("COPY (" + query + ") TO " +
                                     base::duckdb::quote_literal(path) +
                                     " (FORMAT parquet, FIELD_IDS {id: 1})"));
    std::string bytes = value_or_exit(read_file(path));
    model::DataFile file;
    file.file_path = "s3://bench/lake/" + name;
    file.file_size_in_bytes = static_cast<std::int64_t>(bytes.size());
    auto key = value_or_exit(storage::ObjectKey::parse("lake/" + name));
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
  std::unique_ptr<base::duckdb::Engine> on_disk_ = open_engine(files_.path(), kThreads);
  std::unique_ptr<base::duckdb::Engine> in_store_ = open_engine_of_store(minio_.endpoint());
  base::SystemClock clock_;
  base::SystemRandom random_;
  EnginePool blocking_{kThreads};
  boost::asio::io_context loop_{1};
  std::unique_ptr<storage::ObjectStore> store_;
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

void engine_in_store(benchmark::State& state) {
  lake();
  for (auto _ : state) {
    state.counters["rows"] = static_cast<double>(lake().find_with_engine_in_store());
  }
}

void engine_on_disk(benchmark::State& state) {
  lake();
  for (auto _ : state) {
    state.counters["rows"] = static_cast<double>(lake().find_with_engine_on_disk());
  }
}

BENCHMARK(find_equal)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(engine_in_store)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(engine_on_disk)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace lake::exporter
