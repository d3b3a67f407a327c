// The tests' own main(): their program is the child, too.

#include <gtest/gtest.h>

#include <array>

#include "toolserver/isolate/launch.h"
#include "toolserver/isolate/roles_for_test.h"

int main(int argc, char** argv) {
  using tool::isolate::Role;
  constexpr std::array kRoles{Role{"attack", tool::isolate::attack_role},
                              Role{"part", tool::isolate::part_role}};
  if (auto code = tool::isolate::run_if_child(argc, argv, kRoles)) return *code;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
