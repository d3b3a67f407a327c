#include "lakeproxy/policy/masking_view.h"

#include <gtest/gtest.h>

namespace lake::policy {
namespace {

const std::string kSignature = "0123456789abcdef0123456789abcdef";

TEST(MaskingViewName, is_read_back_for_every_name_of_a_table) {
  const MaskPlan plan{.signature = kSignature};
  for (const char* table : {"orders", "a__b", "__mask_x", "_", "with space.and\"quote", "t__0f"}) {
    const std::string name = masking_view_name(table, plan);
    EXPECT_TRUE(name.starts_with("__mask_"));
    const auto read = parse_masking_view_name(name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->table, table);
    EXPECT_EQ(read->signature, kSignature);
  }
}

TEST(MaskingViewName, is_nothing_else) {
  for (const std::string& name :
       {std::string("orders"), std::string("__mask_"), "__mask_" + kSignature,
        "__mask___" + kSignature, "__MASK_t__" + kSignature, "__mask_t_" + kSignature,
        "__mask_t__" + kSignature + "0", "__mask_t__" + kSignature.substr(1),
        "__mask_t__" + kSignature.substr(1) + "G"}) {
    EXPECT_FALSE(parse_masking_view_name(name)) << name;
  }
}

}  // namespace
}  // namespace lake::policy
