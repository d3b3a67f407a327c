#include "lakeproxy/audit/audit_chain.h"

#include <gtest/gtest.h>

#include "base/crypto/encoding.h"

namespace lake::audit {
namespace {

AuditLine line() {
  AuditRecord record{.operation = "load_table",
                     .object = "sales.orders",
                     .decision = "allowed",
                     .detail = R"({"b":1,"a":"x"})",
                     .principal = "dana",
                     .issuer = "lakeproxy",
                     .actor = "agent",
                     .masked_cols = {"email"},
                     .applied_policies = {"hide"}};
  const base::WallTime time{std::chrono::microseconds(1'795'251'600'000'001)};
  AuditLine made = line_of(std::move(record), time, "00000000000000ff");
  made.id = 7;
  return made;
}

std::string hex(const base::crypto::Digest& digest) {
  return base::crypto::to_hex(base::crypto::view(digest));
}

TEST(AuditChain, the_hash_is_the_one_that_the_documents_say) {
  // Python: sha256(json.dumps(members, sort_keys=True, separators=(",", ":")).encode())
  EXPECT_EQ(hex(hash_of(members_of(line(), kFirstHash))),
            "c9ca044c79c727df85040f6a189d912add03cede23a0bd9ad580adcc956859a6");
}

TEST(AuditChain, every_member_and_the_line_before_are_in_the_hash) {
  const auto whole = hash_of(members_of(line(), kFirstHash));
  auto changed = [&](auto change) {
    AuditLine other = line();
    change(other);
    return hash_of(members_of(other, kFirstHash)) != whole;
  };
  EXPECT_TRUE(changed([](AuditLine& of) { of.id = 8; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.ts.back() = 'z'; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.record.principal = "dan"; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.record.issuer = ""; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.record.actor = ""; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.record.operation = "drop"; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.record.object = "sales.order"; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.record.decision = "denied"; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.record.masked_cols.clear(); }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.record.applied_policies = {"hide", "more"}; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.detail["a"] = "y"; }));
  EXPECT_TRUE(changed([](AuditLine& of) { of.request_id = "0"; }));
  EXPECT_NE(hash_of(members_of(line(), base::crypto::sha256("x"))), whole);
}

TEST(AuditChain, what_cannot_be_stored_is_made_so) {
  using namespace std::string_literals;
  AuditRecord record{.operation = "o", .object = "a\0b"s, .decision = "\xff\xfe"};
  record.principal.assign(100'000, 'p');
  const AuditLine made = line_of(std::move(record), {}, "");
  EXPECT_FALSE(made.record.object.contains('\0'));
  EXPECT_EQ(made.record.decision, R"(\xff\xfe)");
  EXPECT_LE(made.record.principal.size(), 600U);
}

TEST(AuditChain, a_detail_that_is_no_object_is_kept_as_text) {
  auto detail_of = [](std::string text) {
    return line_of({.detail = std::move(text)}, {}, "").detail;
  };
  EXPECT_EQ(detail_of(R"({"n":1})"), (base::json::Object{{"n", 1}}));
  EXPECT_TRUE(detail_of("").empty());
  for (std::string text : {"[1]", "plain", R"({"a":"\u0000"})", R"({"n":9007199254740993})"}) {
    EXPECT_EQ(detail_of(text), (base::json::Object{{"text", text}})) << text;
  }
}

}  // namespace
}  // namespace lake::audit
