// The tests' own main(): the engine's process is this program, too.

#include <gtest/gtest.h>

#include <array>

#include "toolserver/connectors/sql/sql_child.h"
#include "toolserver/isolate/launch.h"

int main(int argc, char** argv) {
  using namespace tool;  // NOLINT: of this function alone.
  constexpr std::array kRoles{isolate::Role{connectors::kSqlRole, connectors::sql_child}};
  if (auto code = isolate::run_if_child(argc, argv, kRoles)) return *code;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
