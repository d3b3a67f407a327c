#pragma once

// Tests of this folder: an exporter over a real store, a bucket for each test.

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/testing/minio_server.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/engine/files/engine_fixture_test.h"

namespace lake::exporter {

class ExporterFixture : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { minio.reset(); }

  void SetUp() override {
    if (!minio) {
      auto started = base::testing::MinioServer::start();
      ASSERT_TRUE(started) << started.error().message() << "\n" << started.error().detail();
      minio.emplace(std::move(*started));
    }
    static int number = 0;
    storage::StoreOptions options{
        .endpoint = minio->endpoint(),
        .bucket = "export-" + std::to_string(++number),
        .access_key = base::testing::MinioServer::kAccessKey,
        .secret_key = base::Secret(base::testing::MinioServer::kSecretKey)};
    bucket = options.bucket;
    auto made = storage::ObjectStore::create(std::move(options), clock, random);
    ASSERT_TRUE(made) << made.error().message();
    store = std::move(*made);
    ASSERT_TRUE(run(store->create_bucket(context())));
    exporter = std::make_unique<Exporter>(*engine, blocking, *store);
  }

  static base::RequestContext context() {
    return {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60)};
  }
  template <class T>
  T run(base::Task<T> task) {
    auto future = boost::asio::co_spawn(loop, std::move(task), boost::asio::use_future);
    loop.restart();
    loop.run();
    return future.get();
  }
  [[nodiscard]] std::string at(const std::string& name) const {
    return "s3://" + bucket + "/" + name;
  }
  void put(const std::string& name, std::string bytes) {
    auto done = run(store->put(context(), *storage::ObjectKey::parse(name),
                               base::http::Body(std::move(bytes)), "text/plain"));
    ASSERT_TRUE(done) << done.error().message();
  }
  std::string get(const std::string& name) {
    auto got = run(store->get(context(), *storage::ObjectKey::parse(name)));
    EXPECT_TRUE(got) << name;
    return got ? std::move(*got) : std::string();
  }
  static inline std::optional<base::testing::MinioServer> minio;
  base::SystemClock clock;
  base::SystemRandom random;
  std::string bucket;
  SampleEngine engine;
  EnginePool blocking{2};
  boost::asio::io_context loop{1};  // Outlives the store.
  std::unique_ptr<storage::ObjectStore> store;
  std::unique_ptr<Exporter> exporter;
};

}  // namespace lake::exporter
