#include "toolserver/transport/connection_counts.h"

#include <gtest/gtest.h>

namespace tool::transport {
namespace {

Principal principal(std::string issuer, std::string subject) {
  Principal made;
  made.issuer = std::move(issuer);
  made.subject = std::move(subject);
  return made;
}

TEST(ConnectionCountsTest, a_principal_has_as_many_as_allowed_and_no_more) {
  ConnectionCounts counts(2);
  auto first = counts.enter(principal("node", "alice"));
  auto second = counts.enter(principal("node", "alice"));
  ASSERT_TRUE(first && second);
  auto over = counts.enter(principal("node", "alice"));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kBusy);
  EXPECT_TRUE(over.error().retry_after);
  EXPECT_TRUE(counts.enter(principal("node", "bob")));
  first->reset();
  EXPECT_TRUE(counts.enter(principal("node", "alice")));
}

TEST(ConnectionCountsTest, equal_subjects_of_two_issuers_are_two_principals) {
  ConnectionCounts counts(1);
  auto one = counts.enter(principal("https://one.example", "alice"));
  ASSERT_TRUE(one);
  EXPECT_TRUE(counts.enter(principal("https://two.example", "alice")));
  EXPECT_FALSE(counts.enter(principal("https://one.example", "alice")));
}

TEST(ConnectionCountsTest, a_new_limit_holds_for_newcomers) {
  ConnectionCounts counts(2);
  auto first = counts.enter(principal("node", "alice"));
  ASSERT_TRUE(first);
  counts.set_limit(1);
  EXPECT_FALSE(counts.enter(principal("node", "alice")));
  first->reset();
  EXPECT_TRUE(counts.enter(principal("node", "alice")));
}

}  // namespace
}  // namespace tool::transport
