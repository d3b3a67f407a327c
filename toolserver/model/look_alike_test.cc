#include "toolserver/model/look_alike.h"

#include <gtest/gtest.h>

namespace tool {
namespace {

TEST(LookAlikeTest, names_that_look_alike_have_one_look) {
  for (auto [a, b] : {std::pair{"files", "fi1es"},
                      {"files", "flles"},
                      {"git_log", "git-log"},
                      {"form", "forrn"},
                      {"write", "vvrite"},
                      {"zoo", "z00"}}) {
    EXPECT_EQ(look_of(a), look_of(b)) << a << " " << b;
  }
}

TEST(LookAlikeTest, names_that_differ_to_the_eye_have_looks_of_their_own) {
  for (auto [a, b] : {std::pair{"files", "file"},
                      {"git_log", "gitlog"},
                      {"read", "write"},
                      {"a2", "a3"},
                      {"step", "stop"}}) {
    EXPECT_NE(look_of(a), look_of(b)) << a << " " << b;
  }
}

}  // namespace
}  // namespace tool
