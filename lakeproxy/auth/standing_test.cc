#include "lakeproxy/auth/standing.h"

#include <gtest/gtest.h>

namespace lake::auth {
namespace {

Principal principal(std::string_view scopes, std::string issuer = "lakeproxy") {
  auto grants = std::make_shared<Grants>();
  grants->scopes = *Scopes::parse(scopes, OtherWords::kRefused);
  grants->roles = {"analyst"};
  return {.subject = "jane",
          .superuser = grants->scopes.is_administrator(),
          .account = "acme",
          .issuer = std::move(issuer),
          .grants = grants};
}

struct StandingTest : ::testing::Test {
  bool stands(std::string_view clients, const Principal& then, std::string provider = "") {
    Clients known;
    EXPECT_TRUE(known.add_entries(clients).has_value());
    return Standing(known, "lakeproxy", std::move(provider)).check(then).has_value();
  }
};

TEST_F(StandingTest, takes_a_client_that_has_what_it_had_and_more) {
  EXPECT_TRUE(stands("jane:s|ns:a:rw|analyst|acme", principal("ns:a:r")));
  EXPECT_TRUE(stands("jane:s|*|analyst more|acme", principal("ns:a:rw")));
  EXPECT_TRUE(stands("jane:s|*|analyst|acme", principal("*")));
}

TEST_F(StandingTest, refuses_a_client_that_is_gone_or_has_less) {
  EXPECT_FALSE(stands("john:s|*|analyst|acme", principal("ns:a:r")));
  EXPECT_FALSE(stands("jane:s|ns:a:r|analyst|acme", principal("ns:a:rw")));
  EXPECT_FALSE(stands("jane:s|ns:b:rw|analyst|acme", principal("ns:a:r")));
  EXPECT_FALSE(stands("jane:s|ns:*:rw|analyst|acme", principal("*")));
  EXPECT_FALSE(stands("jane:s|*|other|acme", principal("ns:a:r")));
  EXPECT_FALSE(stands("jane:s|*|analyst|other", principal("ns:a:r")));
}

TEST_F(StandingTest, keeps_issuers_apart) {
  EXPECT_FALSE(stands("jane:s|*|analyst|acme", principal("ns:a:r", "https://id")));
  EXPECT_TRUE(stands("john:s|*", principal("ns:a:r", "https://id"), "https://id"));
  EXPECT_FALSE(stands("john:s|*", principal("ns:a:r", "https://other"), "https://id"));
  EXPECT_FALSE(stands("john:s|*", principal("ns:a:r", ""), ""));
}

TEST_F(StandingTest, holds_who_acts_against_the_configuration_too) {
  Principal acted_for = principal("ns:a:r");
  acted_for.actor = "bot, other";
  EXPECT_TRUE(stands("jane:s|*|analyst|acme, bot:s|ns:a:r, other:s|ns:*:r", acted_for));
  EXPECT_FALSE(stands("jane:s|*|analyst|acme, bot:s|ns:a:r", acted_for));
  EXPECT_FALSE(stands("jane:s|*|analyst|acme, bot:s|ns:b:r, other:s|ns:*:r", acted_for));
}

TEST_F(StandingTest, of_an_open_server_counts_on_open_servers_alone) {
  EXPECT_TRUE(Standing().check(unauthenticated()).has_value());
  EXPECT_FALSE(Standing().check(principal("*")).has_value());
  EXPECT_FALSE(stands("jane:s|*", unauthenticated()));
}

}  // namespace
}  // namespace lake::auth
