#include "base/postgres/statement_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base::pg {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StatementCacheTest, the_least_recently_used_goes_first) {
  StatementCache cache(2);
  std::string a = cache.add("a");
  std::string b = cache.add("b");
  ASSERT_NE(cache.find("a"), nullptr);
  cache.add("c");
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(*cache.find("a"), a);
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_THAT(cache.take_cleanup(), ElementsAre("DEALLOCATE " + b));
  EXPECT_THAT(cache.take_cleanup(), IsEmpty());
}

TEST(StatementCacheTest, names_are_never_used_twice) {
  StatementCache cache(1);
  std::string first = cache.add("a");
  cache.forget(first);
  EXPECT_EQ(cache.find("a"), nullptr);
  EXPECT_NE(cache.add("a"), first);
}

TEST(StatementCacheTest, what_was_never_prepared_is_not_dropped) {
  StatementCache cache(1);
  std::string first = cache.add("a");
  cache.add("b");
  cache.forget(first);
  EXPECT_THAT(cache.take_cleanup(), IsEmpty());
}

TEST(StatementCacheTest, a_stale_cache_finds_nothing_until_cleaned) {
  StatementCache cache(4);
  std::string old = cache.add("a");
  cache.forget_all();
  EXPECT_EQ(cache.find("a"), nullptr);
  EXPECT_NE(cache.add("a"), old);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_THAT(cache.take_cleanup(), ElementsAre("DEALLOCATE ALL"));
  EXPECT_EQ(cache.size(), 0u);
  cache.add("a");
  EXPECT_NE(cache.find("a"), nullptr);
}

}  // namespace
}  // namespace base::pg
