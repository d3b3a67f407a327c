#include "toolserver/audit/checkpoint.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/json/json.h"
#include "base/testing/golden.h"
#include "toolserver/audit/fixture_test.h"

namespace tool::audit {
namespace {

using base::json::Object;
using testing::slurp;
using testing::test_secret;

class CheckpointTest : public testing::AuditTest {};

std::string text(const Object& object, std::string_view name) {
  return std::string(object.at({name.data(), name.size()}).as_string());
}

AuditReceipt receipt_of(const Object& object) {
  const auto& sig = object.at("sig").as_object();
  return {static_cast<std::uint64_t>(object.at("seq").as_int64()), text(object, "hash"),
          text(object, "node"), text(sig, "kid"), text(sig, "v")};
}

// Made by the client of another language, from the text of docs/wire-3.0.md.
TEST(ReceiptTest, is_signed_as_the_vectors_are) {
  auto file = base::json::parse(base::testing::read_golden("wire/receipts.json"));
  ASSERT_TRUE(file.has_value());
  const auto& cases = file->as_object().at("cases").as_array();
  ASSERT_GE(cases.size(), 16u);
  for (const auto& value : cases) {
    const auto& row = value.as_object();
    CheckpointKeys keys;
    if (row.contains("secret")) {
      keys.add(base::Secret(text(row, "secret")));
    } else {
      auto key = base::crypto::VerifyKey::from_pem(text(row, "public_key"));
      ASSERT_TRUE(key.has_value());
      keys.add(*key);
    }
    AuditReceipt receipt = receipt_of(row.at("receipt").as_object());
    EXPECT_EQ(keys.is_signed(receipt), row.at("holds").as_bool()) << text(row, "name");
    if (!row.contains("secret") || !row.at("holds").as_bool()) continue;
    AuditReceipt own{receipt.seq, receipt.hash, {}, {}, {}};
    auto signer = CheckpointSigner::with_secret(base::Secret(text(row, "secret")));
    ASSERT_TRUE(signer.sign(own, receipt.node).has_value());
    EXPECT_EQ(own, receipt) << text(row, "name");
  }
}

TEST_F(CheckpointTest, a_receipt_is_signed_and_bound_to_its_line) {
  auto key = base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519);
  CheckpointKeys keys;
  keys.add(key.verify_key());
  auto log = AuditLog::open(options(), CheckpointSigner::with_key(key), clock_, random_);
  ASSERT_TRUE(log.has_value());
  AuditReceipt receipt = call(**log);
  EXPECT_EQ(receipt.node, "node-a");
  EXPECT_TRUE(keys.is_signed(receipt));
  CheckpointKeys others;
  others.add(test_secret());
  EXPECT_FALSE(others.is_signed(receipt));
  using Change = std::function<void(AuditReceipt&)>;
  for (const Change& change : std::initializer_list<Change>{
           [](auto& r) { r.seq += 1; }, [](auto& r) { r.hash[0] ^= 1; },
           [](auto& r) { r.node = "node-b"; }, [](auto& r) { r.kid = "secret"; },
           [](auto& r) { r.signature[0] = r.signature[0] == 'A' ? 'B' : 'A'; },
           [](auto& r) { r.signature.clear(); }}) {
    AuditReceipt changed = receipt;
    change(changed);
    EXPECT_FALSE(keys.is_signed(changed));
  }
}

TEST_F(CheckpointTest, the_mac_of_arguments_needs_the_key) {
  auto one = CheckpointSigner::with_secret(test_secret());
  auto same = CheckpointSigner::with_secret(test_secret());
  auto other = CheckpointSigner::with_secret(base::Secret("another secret of the tests, 32+"));
  std::string digest = "sha256:" + std::string(64, 'a');
  EXPECT_EQ(one.arguments_mac(digest), same.arguments_mac(digest));
  EXPECT_NE(one.arguments_mac(digest), other.arguments_mac(digest));
  EXPECT_NE(one.arguments_mac(digest), one.arguments_mac(digest + "b"));
  EXPECT_TRUE(one.arguments_mac(digest).starts_with("hmac-sha256:"));
}

TEST_F(CheckpointTest, each_checkpoint_is_handed_out_as_it_was_written) {
  auto settings = options();
  std::vector<std::string> witnessed;
  settings.on_checkpoint = [&](std::string line) { witnessed.push_back(std::move(line)); };
  {
    auto log = open(settings);
    call(*log);
  }
  ASSERT_EQ(witnessed.size(), 1u);
  EXPECT_TRUE(slurp(only_file()).ends_with(witnessed[0]));
}

}  // namespace
}  // namespace tool::audit
