#include "base/metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace base::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RegistryTest, shows_counters_and_gauges_with_labels) {
  Registry registry;
  auto ok = registry.counter("requests_total", "Requests.", {{"route", "load"}, {"code", "2xx"}});
  auto bad = registry.counter("requests_total", "Requests.", {{"route", "load"}, {"code", "5xx"}});
  auto open = registry.gauge("connections", "Open connections.");
  ok.add();
  ok.add(4);
  bad.add(0);
  open.set(7);
  open.add(-9);
  std::string text = registry.text();
  EXPECT_THAT(text, HasSubstr("# HELP requests_total Requests.\n# TYPE requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("requests_total{code=\"2xx\",route=\"load\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("requests_total{code=\"5xx\",route=\"load\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE connections gauge\nconnections -2\n"));
}

TEST(RegistryTest, the_same_series_is_one_series) {
  Registry registry;
  registry.counter("c", "C.", {{"a", "1"}, {"b", "2"}}).add();
  registry.counter("c", "C.", {{"b", "2"}, {"a", "1"}}).add();
  EXPECT_THAT(registry.text(), HasSubstr("c{a=\"1\",b=\"2\"} 2\n"));
}

TEST(RegistryTest, handles_stay_valid_while_others_are_added) {
  Registry registry;
  auto first = registry.counter("c", "C.", {{"n", "0"}});
  for (int i = 1; i < 1000; ++i) {
    registry.counter("c", "C.", {{"n", std::to_string(i)}}).add();
  }
  first.add(3);
  EXPECT_THAT(registry.text(), HasSubstr("c{n=\"0\"} 3\n"));
}

TEST(RegistryTest, escapes_label_values) {
  Registry registry;
  registry.counter("c", "C.", {{"a", "x\"\n\\"}}).add();
  EXPECT_THAT(registry.text(), HasSubstr("c{a=\"x\\\"\\n\\\\\"} 1\n"));
}

TEST(HistogramTest, counts_a_value_at_its_bound_in_that_bucket) {
  Registry registry;
  std::vector<double> bounds = {1, 2};
  auto histogram = registry.histogram("h", "H.", {}, bounds);
  for (double value : {0.5, 1.0, 1.5, 2.0, 2.5}) histogram.observe(value);
  std::string text = registry.text();
  EXPECT_THAT(text, HasSubstr("h_count 5\n"));
  EXPECT_THAT(text, HasSubstr("h_sum 7.5\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"2\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"+Inf\"} 5\n"));
}

TEST(HistogramTest, odd_values_do_no_harm) {
  Registry registry;
  std::vector<double> bounds = {1};
  auto histogram = registry.histogram("h", "H.", {}, bounds);
  histogram.observe(-1);
  histogram.observe(std::numeric_limits<double>::quiet_NaN());
  std::string text = registry.text();
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("h_sum -1\n"));
}

TEST(HistogramTest, latency_buckets_reach_from_50_us_to_30_s) {
  EXPECT_EQ(latency_buckets().front(), 50e-6);
  EXPECT_EQ(latency_buckets().back(), 30.0);
  EXPECT_TRUE(std::ranges::is_sorted(latency_buckets()));
  Registry registry;
  registry.histogram("h_seconds", "H.").observe(0.00004);
  EXPECT_THAT(registry.text(), HasSubstr("h_seconds_bucket{le=\"5e-05\"} 1\n"));
}

TEST(RegistryTest, counts_exactly_from_many_threads_while_scraped) {
  Registry registry;
  auto counter = registry.counter("c", "C.");
  auto histogram = registry.histogram("h", "H.");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        counter.add();
        histogram.observe(1);
        if (i % 1000 == 0) registry.gauge("g", "G.").add(1);
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(registry.text().empty());
  for (auto& thread : threads) thread.join();
  std::string text = registry.text();
  EXPECT_THAT(text, HasSubstr("c 40000\n"));
  EXPECT_THAT(text, HasSubstr("h_count 40000\n"));
  EXPECT_THAT(text, HasSubstr("h_sum 40000\n"));
  EXPECT_THAT(text, HasSubstr("g 40\n"));
}

TEST(RegistryDeathTest, aborts_on_series_that_cannot_be_told_apart) {
  Registry registry;
  static_cast<void>(registry.counter("c", "C."));
  static_cast<void>(registry.histogram("h", "H."));
  std::vector<double> descending = {2, 1};
  std::vector<double> other = {1, 2};
  EXPECT_DEATH(static_cast<void>(registry.gauge("c", "C.")), "two types");
  EXPECT_DEATH(static_cast<void>(registry.counter("c", "Other.")), "two types");
  EXPECT_DEATH(static_cast<void>(registry.counter("a-b", "C.")), "bad name");
  EXPECT_DEATH(static_cast<void>(registry.counter("d", "D.", {{"a-b", "x"}})), "bad label");
  EXPECT_DEATH(static_cast<void>(registry.histogram("e", "E.", {{"le", "x"}})), "bad label");
  EXPECT_DEATH(static_cast<void>(registry.counter("d", "D.", {{"a", "x"}, {"a", "y"}})), "twice");
  EXPECT_DEATH(static_cast<void>(registry.histogram("f", "F.", {}, descending)), "ascend");
  EXPECT_DEATH(static_cast<void>(registry.histogram("h", "H.", {}, other)), "buckets");
}

}  // namespace
}  // namespace base::metrics
