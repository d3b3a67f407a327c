#include "base/avro/schema_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace base::avro {
namespace {

std::string fixed_of(int size) {
  return R"({"type": "fixed", "name": "f", "size": )" + std::to_string(size) + "}";
}

TEST(SchemaCacheTest, the_same_text_is_parsed_once) {
  SchemaCache cache;
  auto first = cache.parse(fixed_of(3));
  auto again = cache.parse(fixed_of(3));
  auto other = cache.parse(fixed_of(4));
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(*first, *again);
  EXPECT_EQ((*other)->root().size, 4U);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(SchemaCacheTest, what_does_not_parse_is_refused_each_time_and_not_kept) {
  SchemaCache cache;
  for (int i = 0; i < 2; ++i) {
    auto broken = cache.parse("{");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().kind(), ErrorKind::kInvalid);
  }
  EXPECT_EQ(cache.size(), 0U);
}

TEST(SchemaCacheTest, is_bounded_in_number_and_in_length) {
  SchemaCache cache(3, fixed_of(10).size());
  for (int size = 1; size <= 3; ++size) ASSERT_TRUE(cache.parse(fixed_of(size)));
  EXPECT_EQ(cache.size(), 3U);
  auto held = *cache.parse(fixed_of(1));
  ASSERT_TRUE(cache.parse(fixed_of(4)));
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(held->root().size, 1U) << "who holds a schema keeps it";
  ASSERT_TRUE(cache.parse(fixed_of(100)));
  EXPECT_EQ(cache.size(), 1U) << "too long a text is not kept";
}

TEST(SchemaCacheTest, threads_may_meet) {
  SchemaCache cache(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache] {
      for (int i = 0; i < 200; ++i) {
        auto schema = cache.parse(fixed_of(i % 5));
        ASSERT_TRUE(schema);
        ASSERT_EQ((*schema)->root().size, static_cast<std::size_t>(i % 5));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace base::avro
