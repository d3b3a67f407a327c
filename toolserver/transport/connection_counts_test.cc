#include "toolserver/transport/connection_counts.h"

#include <gtest/gtest.h>

#include <vector>

namespace tool::transport {
namespace {

using Places = std::vector<std::unique_ptr<ConnectionCounts::Place>>;

TEST(ConnectionCountsTest, takes_as_many_as_allowed_and_no_more) {
  ConnectionCounts counts(
      {.connections = 2, .of_address = 9, .of_principal = 9, .unauthenticated = 9});
  Places places;
  for (int i = 0; i < 2; ++i) {
    auto place = counts.admit("a");
    ASSERT_TRUE(place);
    places.push_back(std::move(*place));
  }
  auto over = counts.admit("b");
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kBusy);
  EXPECT_TRUE(over.error().retry_after);
  places.pop_back();
  EXPECT_TRUE(counts.admit("b"));
}

TEST(ConnectionCountsTest, one_address_cannot_take_the_places_of_others) {
  ConnectionCounts counts(
      {.connections = 9, .of_address = 1, .of_principal = 9, .unauthenticated = 9});
  auto first = counts.admit("a");
  ASSERT_TRUE(first);
  EXPECT_FALSE(counts.admit("a"));
  EXPECT_TRUE(counts.admit("b"));
}

TEST(ConnectionCountsTest, authentication_frees_a_place_of_the_unknown) {
  ConnectionCounts counts(
      {.connections = 9, .of_address = 9, .of_principal = 9, .unauthenticated = 1});
  auto first = counts.admit("a");
  ASSERT_TRUE(first);
  EXPECT_FALSE(counts.admit("a"));
  ASSERT_TRUE((*first)->authenticated("alice"));
  EXPECT_TRUE(counts.admit("a"));
}

TEST(ConnectionCountsTest, a_principal_has_its_own_limit) {
  ConnectionCounts counts(
      {.connections = 9, .of_address = 9, .of_principal = 1, .unauthenticated = 9});
  auto first = counts.admit("a");
  auto second = counts.admit("b");
  ASSERT_TRUE(first && second);
  ASSERT_TRUE((*first)->authenticated("alice"));
  EXPECT_TRUE((*first)->authenticated("alice"));
  auto refused = (*second)->authenticated("alice");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBusy);
  EXPECT_TRUE((*second)->authenticated("bob"));
  first->reset();
  EXPECT_EQ(counts.connections(), 1U);
}

}  // namespace
}  // namespace tool::transport
