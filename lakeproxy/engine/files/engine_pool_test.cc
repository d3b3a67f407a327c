#include "lakeproxy/engine/files/engine_pool.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <thread>

namespace lake::exporter {
namespace {

namespace asio = boost::asio;

class EnginePools : public ::testing::Test {
 protected:
  EnginePools() : guard_(loop_.get_executor()), thread_([this] { loop_.run(); }) {}
  ~EnginePools() override {
    guard_.reset();
    thread_.join();
  }

  template <class Call>
  auto start(EnginePool& pool, Call call) {
    return asio::co_spawn(loop_, pool.run(std::move(call)), asio::use_future);
  }
  bool shows(const std::string& line) { return metrics_.text().find(line) != std::string::npos; }

  base::metrics::Registry metrics_;
  asio::io_context loop_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::thread thread_;
};

TEST_F(EnginePools, a_long_job_holds_up_its_own_kind_and_no_other) {
  EnginePool commits(1, EngineWork::kCommit, EngineMeter(metrics_, "commit"), nullptr);
  EnginePool loads(1, EngineWork::kLoad, EngineMeter(metrics_, "load"), nullptr);
  std::promise<void> begun, ends;
  auto long_job = start(commits, [&] {
    begun.set_value();
    ends.get_future().wait();
    return 1;
  });
  begun.get_future().wait();
  auto next = start(commits, [] { return 2; });
  EXPECT_EQ(start(loads, [] { return 3; }).get(), 3);
  EXPECT_EQ(next.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_TRUE(shows(R"(lakeproxy_engine_jobs{state="running",work="commit"} 1)"))
      << metrics_.text();
  EXPECT_TRUE(shows(R"(lakeproxy_engine_jobs{state="waiting",work="commit"} 1)"));
  ends.set_value();
  EXPECT_EQ(long_job.get(), 1);
  EXPECT_EQ(next.get(), 2);
  EXPECT_TRUE(shows(R"(lakeproxy_engine_jobs_total{work="commit"} 2)"));
  EXPECT_TRUE(shows(R"(lakeproxy_engine_jobs_total{work="load"} 1)"));
  EXPECT_TRUE(shows(R"(lakeproxy_engine_jobs{state="running",work="commit"} 0)"));
  EXPECT_TRUE(shows(R"(lakeproxy_engine_jobs{state="waiting",work="commit"} 0)"));
}

TEST_F(EnginePools, each_job_is_told_to_the_watch_by_its_kind) {
  std::vector<EngineWork> seen;
  const EngineWatch watch = [&seen](EngineWork work) { seen.push_back(work); };
  EnginePool pool(1, EngineWork::kCount, EngineMeter(metrics_, "count"), &watch);
  EXPECT_EQ(start(pool, [] { return 1; }).get(), 1);
  EXPECT_EQ(seen, std::vector{EngineWork::kCount});
}

}  // namespace
}  // namespace lake::exporter
