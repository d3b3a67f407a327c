#include "lakeproxy/publish/lru_cache.h"

#include <gtest/gtest.h>

namespace lake::publish {
namespace {

TEST(LruCache, forgets_what_was_used_longest_ago) {
  LruCache<int> cache(2);
  cache.put("a", 1);
  cache.put("b", 2);
  EXPECT_EQ(cache.get("a"), 1);
  cache.put("c", 3);
  EXPECT_EQ(cache.get("b"), std::nullopt);
  EXPECT_EQ(cache.get("a"), 1);
  EXPECT_EQ(cache.get("c"), 3);
}

TEST(LruCache, counts_weights_and_lets_one_heavy_value_in) {
  LruCache<int> cache(10);
  cache.put("a", 1, 4);
  cache.put("b", 2, 4);
  cache.put("c", 3, 4);
  EXPECT_EQ(cache.get("a"), std::nullopt);
  cache.put("heavy", 4, 100);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.get("heavy"), 4);
}

TEST(LruCache, replaces_and_erases) {
  LruCache<int> cache(2);
  cache.put("a", 1);
  cache.put("a", 2);
  EXPECT_EQ(cache.get("a"), 2);
  EXPECT_EQ(cache.size(), 1u);
  cache.erase("a");
  cache.erase("a");
  EXPECT_EQ(cache.get("a"), std::nullopt);
}

TEST(LruCache, keeps_nothing_when_it_may_not) {
  LruCache<int> cache(0);
  cache.put("a", 1);
  EXPECT_EQ(cache.get("a"), std::nullopt);
}

}  // namespace
}  // namespace lake::publish
