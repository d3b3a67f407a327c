#include "lakeproxy/delegation/access_delegation.h"

#include <gtest/gtest.h>

namespace lake::delegation {
namespace {

TEST(AskedOf, takes_the_words_of_the_header_and_passes_over_others) {
  EXPECT_TRUE(asked_of(std::nullopt).nothing());
  EXPECT_TRUE(asked_of("").nothing());
  EXPECT_TRUE(asked_of(",, ,").nothing());
  EXPECT_TRUE(asked_of("vended-credential, vended-credentials2, Vended-Credentials").nothing());
  for (const char* text : {"vended-credentials", " vended-credentials ", "x,vended-credentials",
                           "vended-credentials,,"}) {
    EXPECT_TRUE(asked_of(text).vended_credentials) << text;
    EXPECT_FALSE(asked_of(text).remote_signing) << text;
  }
  const Asked both = asked_of("remote-signing, vended-credentials");
  EXPECT_TRUE(both.vended_credentials && both.remote_signing);
}

}  // namespace
}  // namespace lake::delegation
