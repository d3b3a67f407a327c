#include "lakeproxy/ducklake/lake/namespace_mapping.h"

#include <gtest/gtest.h>

#include <set>

namespace lake::ducklake {
namespace {

using model::Namespace;

TEST(NamespaceMapping, one_level_is_the_schema_itself) {
  for (const char* name : {"main", "a.b", "a/b", "a%1Fb", "\xc3\xa9", "with space", "\"q\""}) {
    EXPECT_EQ(flat_schema_name(Namespace{{name}}), name);
    EXPECT_EQ(namespace_of_schema(name), Namespace{{name}});
  }
}

TEST(NamespaceMapping, no_two_namespaces_share_a_schema) {
  const std::vector<Namespace> names = {
      {{"a", "b"}}, {{"a.b"}}, {{"a", "b", "c"}}, {{"a", "b.c"}}, {{"a.b", "c"}}, {{"ab"}}, {{"a"}},
  };
  std::set<std::string> flat;
  for (const Namespace& name : names) {
    EXPECT_TRUE(flat.insert(flat_schema_name(name)).second) << name.display();
    EXPECT_EQ(namespace_of_schema(flat_schema_name(name)), name);
  }
}

TEST(NamespaceMapping, names_that_iceberg_cannot_express_stand_for_nothing) {
  EXPECT_FALSE(namespace_of_schema(""));
  EXPECT_FALSE(namespace_of_schema("a\nb"));
  EXPECT_FALSE(namespace_of_schema("a\x1f"));
  EXPECT_FALSE(namespace_of_schema("\xff"));
  EXPECT_TRUE(namespace_of_schema(std::string(255, 'x')));
  EXPECT_FALSE(namespace_of_schema(std::string(256, 'x')));
}

}  // namespace
}  // namespace lake::ducklake
