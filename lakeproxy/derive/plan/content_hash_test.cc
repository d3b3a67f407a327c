#include "lakeproxy/derive/plan/content_hash.h"

#include <gtest/gtest.h>

namespace lake::materialize {
namespace {

// Source: FIPS 180-4 example digests, their first 64 bits.
TEST(ContentHash, is_the_head_of_sha256) {
  EXPECT_EQ(content_hash(""), "e3b0c44298fc1c14");
  EXPECT_EQ(content_hash("abc"), "ba7816bf8f01cfea");
}

}  // namespace
}  // namespace lake::materialize
