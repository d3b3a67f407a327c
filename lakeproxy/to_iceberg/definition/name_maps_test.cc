#include "lakeproxy/to_iceberg/definition/name_maps.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using model::Field;
using model::LakeNameMap;
using model::NameMapping;
using model::Schema;
using model::Type;
using model::TypeKind;

Field field(model::FieldId id, std::string name, Type type = Type(TypeKind::kInt)) {
  return {.id = id, .name = std::move(name), .type = std::move(type)};
}

const std::vector<Schema> kSchemas = {
    {.schema_id = 0, .fields = {field(1, "a"), field(2, "p")}},
    {.schema_id = 1,
     .fields = {field(1, "b"), field(2, "p"), field(3, "a"),
                field(4, "l", Type::list(5, Type::structure({field(6, "x")}), false))}},
};

TEST(NameMaps, a_column_has_the_names_of_all_files) {
  auto mapping = name_mapping_of({{1, {{{1, {"a"}}, {2, {"P"}}}}}, {2, {{{1, {"b"}}, {2, {"p"}}}}}},
                                 {kSchemas[0]});
  EXPECT_EQ(mapping, (NameMapping{{1, {"a", "b"}, {}}, {2, {"P", "p"}, {}}}));
}

TEST(NameMaps, the_parts_of_a_list_have_the_names_that_readers_give_them) {
  const LakeNameMap map{{{4, {"L"}}, {5, {"list"}}, {6, {"X"}}}};
  auto mapping = name_mapping_of({{1, map}}, kSchemas);
  EXPECT_EQ(mapping, (NameMapping{{4, {"L"}, {{5, {"element"}, {{6, {"X"}, {}}}}}}}));
}

TEST(NameMaps, columns_of_paths_and_columns_that_no_schema_has_are_left_out) {
  auto mapping = name_mapping_of({{1, {{{1, {"a"}}, {2, {"p", true}}, {9, {"gone"}}}}}}, kSchemas);
  EXPECT_EQ(mapping, (NameMapping{{1, {"a"}, {}}}));
}

TEST(NameMaps, a_name_that_means_two_columns_is_that_of_the_first_file) {
  const LakeNameMap first{{{1, {"a"}}}}, other{{{3, {"a"}}, {4, {"l"}}}};
  EXPECT_EQ(name_mapping_of({{1, first}, {2, other}}, kSchemas),
            (NameMapping{{1, {"a"}, {}}, {4, {"l"}, {}}}));
  EXPECT_EQ(name_mapping_of({{1, other}, {2, first}}, kSchemas),
            (NameMapping{{3, {"a"}, {}}, {4, {"l"}, {}}}));
}

TEST(NameMaps, a_name_at_another_level_is_another_name) {
  const LakeNameMap map{{{1, {"a"}}, {4, {"l"}}, {5, {"list"}}, {6, {"a"}}}};
  EXPECT_EQ(name_mapping_of({{1, map}}, kSchemas),
            (NameMapping{{1, {"a"}, {}}, {4, {"l"}, {{5, {"element"}, {{6, {"a"}, {}}}}}}}));
}

TEST(NameMaps, a_clients_names_are_added_where_they_mean_nothing_yet) {
  NameMapping mapping = {{1, {"a"}, {}}, {2, {"p"}, {{3, {"x"}, {}}}}};
  add_names({{1, {"b", "a"}, {}},
             {2, {"p"}, {{4, {"x"}, {}}, {5, {"y"}, {}}}},
             {6, {"a"}, {}},
             {7, {"c"}, {}},
             {std::nullopt, {"d", "p"}, {}}},
            mapping);
  EXPECT_EQ(mapping, (NameMapping{{1, {"a", "b"}, {}},
                                  {2, {"p"}, {{3, {"x"}, {}}, {5, {"y"}, {}}}},
                                  {7, {"c"}, {}},
                                  {std::nullopt, {"d"}, {}}}));
}

}  // namespace
}  // namespace lake::ducklake
