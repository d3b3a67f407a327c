#include "toolserver/federation/proof/node_keys.h"

#include <gtest/gtest.h>

#include "toolserver/federation/proof/fixture_test.h"

namespace tool::federation {
namespace {

using base::ErrorKind;
using testing::key_of;

NodeKeys::Known known(std::initializer_list<const char*> nodes) {
  NodeKeys::Known out;
  for (const char* node : nodes) out.emplace(node, key_of(node).verify_key());
  return out;
}

TEST(NodeKeys, those_of_the_configuration_are_replaced_and_those_of_the_program_stay) {
  auto keys = testing::node("node-a", {"added"});
  ASSERT_TRUE(keys->put(known({"b", "c"})));
  EXPECT_TRUE(keys->knows("added") && keys->knows("b") && keys->knows("c"));
  ASSERT_TRUE(keys->put(known({"c", "d"})));
  EXPECT_TRUE(keys->knows("added") && keys->knows("c") && keys->knows("d"));
  EXPECT_FALSE(keys->knows("b"));
  // What one that is gone signs is refused.
  EXPECT_EQ(keys->verifier("b", "node-a").error().code, Code::kAuth);
  EXPECT_TRUE(keys->verifier("c", "node-a"));
}

TEST(NodeKeys, say_which_key_a_node_proves_in_the_handshake) {
  auto keys = testing::node("node-a", {});
  auto registered = known({"b"});
  registered.emplace("by-secret", std::nullopt);
  registered.emplace("rsa",
                     base::crypto::SigningKey::generate(base::crypto::KeyType::kRsa).verify_key());
  ASSERT_TRUE(keys->put(registered));
  EXPECT_EQ(keys->handshake_key("b"), key_of("b").verify_key().thumbprint());
  for (const char* other : {"by-secret", "rsa", "nobody"}) {
    EXPECT_EQ(keys->handshake_key(other), std::nullopt) << other;
  }
  ASSERT_TRUE(keys->put({}));
  EXPECT_EQ(keys->handshake_key("b"), std::nullopt);
}

TEST(NodeKeys, are_replaced_all_or_not_at_all) {
  auto keys = testing::node("node-a", {"added"});
  ASSERT_TRUE(keys->put(known({"b"})));
  EXPECT_EQ(keys->put(known({"c", "node-a"})).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(keys->put(known({"c", "added"})).error().kind(), ErrorKind::kConflict);
  NodeKeys::Known many;
  for (std::size_t i = 0; i < NodeKeys::kNodes; ++i)
    many.emplace("n" + std::to_string(i), std::nullopt);
  EXPECT_EQ(keys->put(many).error().kind(), ErrorKind::kTooLarge);
  EXPECT_TRUE(keys->knows("b"));
  EXPECT_FALSE(keys->knows("c"));
  many.erase("n0");
  EXPECT_TRUE(keys->put(many));
}

}  // namespace
}  // namespace tool::federation
