#include "toolserver/session/record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tool::session {
namespace {

constexpr std::string_view kKey = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kIv = "0123456789ab";

RecordStart start(std::uint16_t epoch = 0) {
  return {.key = kKey, .iv = kIv, .transcript = Digest{1}, .epoch = epoch};
}

std::string code(const Outcome<std::string>& outcome) {
  return outcome ? *outcome : std::string(name(outcome.error().code));
}

TEST(RecordTest, opens_in_order_with_every_cipher) {
  for (auto suite : {Suite::kX25519Aes256Gcm, Suite::kP256Aes256Gcm, Suite::kX25519ChaCha20}) {
    auto begin = start(7);
    begin.algorithm = traits(suite).aead;
    RecordSealer sealer(begin);
    RecordOpener opener(begin);
    for (const std::string& text : {std::string(), std::string("a"), std::string(100'000, 'x')}) {
      auto record = sealer.seal(text);
      EXPECT_EQ(record.size(), text.size() + kRecordOverhead);
      EXPECT_EQ(code(opener.open(record)), text);
    }
  }
}

TEST(RecordTest, one_plaintext_twice_is_two_records) {
  RecordSealer sealer(start());
  EXPECT_NE(sealer.seal("same"), sealer.seal("same"));
}

TEST(RecordTest, takes_exactly_the_record_that_comes_next) {
  RecordSealer sealer(start());
  std::vector<std::string> records;
  for (int i = 0; i < 4; ++i) records.push_back(sealer.seal(std::to_string(i)));
  struct Case {
    const char* what;
    std::vector<int> order;
    std::vector<std::string> answers;
  };
  const std::vector<Case> cases = {
      {"in order", {0, 1, 2, 3}, {"0", "1", "2", "3"}},
      {"first dropped", {1}, {"E_REPLAY"}},
      {"one dropped", {0, 2}, {"0", "E_REPLAY"}},
      {"swapped", {0, 2, 1}, {"0", "E_REPLAY", "1"}},
      {"doubled", {0, 0}, {"0", "E_REPLAY"}},
      {"old one again", {0, 1, 2, 0}, {"0", "1", "2", "E_REPLAY"}},
  };
  for (const auto& [what, order, answers] : cases) {
    RecordOpener opener(start());
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(code(opener.open(records[static_cast<std::size_t>(order[i])])), answers[i]) << what;
    }
  }
}

TEST(RecordTest, another_key_iv_epoch_transcript_or_cipher_is_refused) {
  auto record = RecordSealer(start()).seal("text");
  auto other = [&](auto change) {
    auto begin = start();
    change(begin);
    return code(RecordOpener(begin).open(record));
  };
  EXPECT_EQ(other([](RecordStart&) {}), "text");
  EXPECT_EQ(other([](RecordStart& b) { b.key = "0123456789abcdef0123456789abcdeX"; }), "E_SIG");
  EXPECT_EQ(other([](RecordStart& b) { b.iv = "0123456789aX"; }), "E_SIG");
  EXPECT_EQ(other([](RecordStart& b) { b.transcript = Digest{2}; }), "E_SIG");
  EXPECT_EQ(other([](RecordStart& b) { b.epoch = 1; }), "E_REPLAY");
  EXPECT_EQ(other([](RecordStart& b) { b.counter = 1; }), "E_REPLAY");
  EXPECT_EQ(
      other([](RecordStart& b) { b.algorithm = base::crypto::Aead::Algorithm::kChaCha20Poly1305; }),
      "E_SIG");
}

TEST(RecordTest, every_flipped_bit_and_every_cut_is_found_out) {
  const std::string record = RecordSealer(start()).seal("a plaintext");
  for (std::size_t at = 0; at < record.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = record;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      std::string wanted = at < 2 ? "E_PARSE" : at < kRecordHeaderBytes ? "E_REPLAY" : "E_SIG";
      RecordOpener opener(start());
      EXPECT_EQ(code(opener.open(changed)), wanted) << at;
      EXPECT_EQ(code(opener.open(record)), "a plaintext");
    }
  }
  for (std::size_t size = 0; size < record.size(); ++size) {
    std::string wanted = size < kRecordOverhead ? "E_PARSE" : "E_SIG";
    EXPECT_EQ(code(RecordOpener(start()).open(record.substr(0, size))), wanted) << size;
  }
  EXPECT_EQ(code(RecordOpener(start()).open(record + "x")), "E_SIG");
}

TEST(RecordTest, limits_are_reached_at_their_number) {
  RecordSealer sealer(start());
  RekeyLimits limits{.records = 3, .bytes = 1 << 20};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(sealer.reached(limits, 1));
    (void)sealer.seal("x");
  }
  EXPECT_TRUE(sealer.reached(limits, 1));
  EXPECT_FALSE(sealer.reached(limits, 2));
  for (int i = 0; i < 3; ++i) (void)sealer.seal("x");
  EXPECT_TRUE(sealer.reached(limits, 2));

  RecordSealer bytes(start());
  limits = {.records = 100, .bytes = 1000};
  (void)bytes.seal(std::string(1000 - kRecordOverhead - 1, 'x'));
  EXPECT_FALSE(bytes.reached(limits, 1));
  (void)bytes.seal("");
  EXPECT_TRUE(bytes.reached(limits, 1));
}

}  // namespace
}  // namespace tool::session
