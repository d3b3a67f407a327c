// The vectors of tests/golden/federation/forward_proofs.json: made in another language,
// from the text of docs/wire-3.0.md.

#include "base/testing/golden.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crypto/encoding.h"
#include "toolserver/federation/proof/fixture_test.h"

namespace tool::federation {
namespace {

using base::json::Object;

std::string text(const Object& row, std::string_view name) {
  return std::string(row.at({name.data(), name.size()}).as_string());
}
std::string bytes(const std::string& hex) { return base::crypto::from_hex(hex, 1'024).value(); }

std::unique_ptr<NodeKeys> keys_of(const Object& row) {
  auto keys =
      NodeKeys::create({text(row, "node"), std::nullopt, base::Secret(bytes(text(row, "secret"))),
                        base::Secret(bytes(text(row, "salt")))})
          .value();
  for (const auto& known : row.at("known").as_object()) {
    std::optional<base::crypto::VerifyKey> key;
    std::string hex(known.value().as_string());
    if (!hex.empty()) key = base::crypto::VerifyKey::from_ed25519(bytes(hex)).value();
    EXPECT_TRUE(keys->add(std::string(known.key()), key));
  }
  return keys;
}

TEST(GoldenTest, forward_proofs) {
  auto value = base::json::parse(base::testing::read_golden("federation/forward_proofs.json"));
  ASSERT_TRUE(value);
  const auto& cases = value->as_object().at("cases").as_array();
  EXPECT_GE(cases.size(), 50U);
  for (const auto& one : cases) {
    const auto& row = one.as_object();
    testing::CountingRandom random;
    ProofMemory memory(random);
    std::string from = text(row, "from"), session = text(row, "session"), tool = text(row, "tool");
    Asked asked{from, session, tool, &row.at("args").as_object(), {}};
    asked.dry_run = row.contains("dry_run");
    for (const auto& proof : row.at("proofs").as_array())
      asked.proofs.emplace_back(proof.as_string());
    base::WallTime now{std::chrono::seconds(row.at("now").as_int64())};
    auto hops = static_cast<std::uint32_t>(row.at("max_hops").as_int64());
    auto accepted = accept(*keys_of(row), memory, std::move(asked), hops, now);
    EXPECT_EQ(testing::code_of(accepted), text(row, "answer")) << text(row, "name");
    if (!accepted || !row.contains("way")) continue;
    std::vector<std::string> way;
    for (const auto& node : row.at("way").as_array()) way.emplace_back(node.as_string());
    EXPECT_EQ(accepted->way, way);
  }
}

}  // namespace
}  // namespace tool::federation
