#include "lakeproxy/to_iceberg/publish/lru_cache.h"

#include <gtest/gtest.h>

namespace lake::publish {
namespace {

TEST(LruCache, forgets_what_was_used_longest_ago) {
  LruCache<int> cache({.values = 2});
  cache.put("a", 1);
  cache.put("b", 2);
  EXPECT_EQ(cache.get("a"), 1);
  cache.put("c", 3);
  EXPECT_EQ(cache.get("b"), std::nullopt);
  EXPECT_EQ(cache.get("a"), 1);
  EXPECT_EQ(cache.get("c"), 3);
}

TEST(LruCache, counts_bytes_and_lets_one_heavy_value_in) {
  LruCache<int> cache({.values = 100, .bytes = 10});
  cache.put("a", 1, 4);
  cache.put("b", 2, 6);
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.bytes(), 10U);
  cache.put("c", 3, 1);
  EXPECT_EQ(cache.get("a"), std::nullopt);
  EXPECT_EQ(cache.bytes(), 7U);
  cache.put("b", 2, 9);
  EXPECT_EQ(cache.bytes(), 10U);
  cache.put("heavy", 4, 100);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.get("heavy"), 4);
  cache.erase("heavy");
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(LruCache, a_value_that_grows_makes_others_go) {
  LruCache<int> cache({.values = 100, .bytes = 10});
  cache.put("a", 1, 4);
  cache.put("b", 2, 4);
  cache.reweigh("a", 1, 6);
  EXPECT_EQ(cache.bytes(), 10U);
  EXPECT_EQ(cache.size(), 2U);
  cache.reweigh("a", 1, 7);
  EXPECT_EQ(cache.get("b"), std::nullopt);
  EXPECT_EQ(cache.get("a"), 1) << "it was used last";
  EXPECT_EQ(cache.bytes(), 7U);
  cache.reweigh("a", 1, 2);
  EXPECT_EQ(cache.bytes(), 2U);
}

TEST(LruCache, what_was_replaced_or_forgotten_gets_no_other_weight) {
  LruCache<int> cache({.values = 100, .bytes = 10});
  cache.put("a", 1, 4);
  cache.put("a", 2, 4);
  cache.reweigh("a", 1, 9);
  cache.reweigh("b", 1, 9);
  EXPECT_EQ(cache.bytes(), 4U);
}

TEST(LruCache, shows_what_it_holds) {
  base::metrics::Registry metrics;
  LruCache<int> cache({.values = 2, .bytes = 10});
  cache.show_on(metrics.gauge("held", "Values."), metrics.gauge("held_bytes", "Bytes."));
  cache.put("a", 1, 4);
  cache.put("b", 2, 5);
  EXPECT_NE(metrics.text().find("held 2\n"), std::string::npos);
  EXPECT_NE(metrics.text().find("held_bytes 9\n"), std::string::npos);
  cache.erase("a");
  EXPECT_NE(metrics.text().find("held 1\n"), std::string::npos);
  EXPECT_NE(metrics.text().find("held_bytes 5\n"), std::string::npos);
}

TEST(LruCache, replaces_and_erases) {
  LruCache<int> cache({.values = 2});
  cache.put("a", 1);
  cache.put("a", 2);
  EXPECT_EQ(cache.get("a"), 2);
  EXPECT_EQ(cache.size(), 1u);
  cache.erase("a");
  cache.erase("a");
  EXPECT_EQ(cache.get("a"), std::nullopt);
}

TEST(LruCache, keeps_nothing_when_it_may_not) {
  LruCache<int> cache({.values = 0, .bytes = 100});
  cache.put("a", 1);
  EXPECT_EQ(cache.get("a"), std::nullopt);
}

}  // namespace
}  // namespace lake::publish
