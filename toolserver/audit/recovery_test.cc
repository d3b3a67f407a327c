#include "toolserver/audit/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "toolserver/audit/fixture_test.h"

namespace tool::audit {
namespace {

using testing::AuditTest;
using testing::slurp;
using testing::spill;
using testing::test_secret;

class RecoveryTest : public AuditTest {};

TEST_F(RecoveryTest, what_is_taken_over_unsigned_is_said_for_ever) {
  call(*open());
  auto lines = testing::lines_of(slurp(only_file()));
  lines.pop_back();  // The checkpoint: as after a kill, or as a forger does.
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  spill(only_file(), text);
  {
    auto log = open();
    EXPECT_EQ(log->notes().size(), 1u);
  }
  for (int boot = 0; boot < 2; ++boot) {
    EXPECT_TRUE(open()->notes().empty());
    auto result = report();
    EXPECT_FALSE(result.is_intact());
    EXPECT_EQ(result.verdict(), Verdict::kUnsigned);
    ASSERT_EQ(result.taken_over.size(), 1u);
    EXPECT_EQ(result.taken_over[0].range, (LineRange{1, 3}));
    EXPECT_EQ(result.taken_over[0].lines, 3u);
    EXPECT_EQ(result.taken_over[0].start, 4u);
    EXPECT_TRUE(report({.accepted = {{1, 3}}}).is_intact());
    EXPECT_FALSE(report({.accepted = {{1, 4}}}).is_intact());
  }
}

TEST_F(RecoveryTest, goes_back_to_the_file_with_the_last_checkpoint) {
  auto settings = options();
  settings.segment_bytes = 2'000;
  std::uint64_t signed_end = 0;
  for (std::size_t files : {3u, 6u}) {
    auto log = open(settings);
    while (list_segments(folder())->size() < files) seal(*log);
    log.reset();
    if (signed_end == 0) signed_end = report().head.seq;
  }
  std::string last = list_segments(folder())->back().path;
  std::string text;
  auto lines = testing::lines_of(slurp(last));
  lines.pop_back();  // The only checkpoint of the second run.
  for (const auto& line : lines) text += line + "\n";
  spill(last, text);
  open(settings);
  auto result = report();
  ASSERT_EQ(result.taken_over.size(), 1u);
  EXPECT_EQ(result.taken_over[0].range.from, signed_end);
  EXPECT_EQ(result.taken_over[0].lines, result.taken_over[0].range.to - signed_end);
}

TEST_F(RecoveryTest, a_key_that_is_gone_must_be_named) {
  call(*open());
  auto other = CheckpointSigner::with_secret(base::Secret("another secret of the tests, 32+"));
  auto refused = AuditLog::open(options(), other, clock_, random_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind(), base::ErrorKind::kCorrupt);
  EXPECT_THAT(std::string(refused.error().message()), ::testing::HasSubstr("audit.old_keys"));
  auto settings = options();
  settings.old_keys.add(test_secret());
  auto log = AuditLog::open(settings, other, clock_, random_);
  ASSERT_TRUE(log.has_value());
  EXPECT_TRUE((*log)->notes().empty());
}

TEST_F(RecoveryTest, a_key_pair_is_not_followed_by_the_secret) {
  auto key = base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519);
  call(**AuditLog::open(options(), CheckpointSigner::with_key(key), clock_, random_));
  auto settings = options();
  settings.old_keys.add(key.verify_key());
  auto back = try_open(settings);
  ASSERT_FALSE(back.has_value());
  EXPECT_EQ(back.error().kind(), base::ErrorKind::kConflict);
}

TEST_F(RecoveryTest, a_torn_end_is_kept_aside_and_the_chain_goes_on) {
  AuditReceipt receipt;
  {
    auto log = open();
    receipt = call(*log);
  }
  std::string whole = slurp(only_file());
  for (const std::string& tail : {std::string("{\"args"), std::string(1, '\0'),
                                  std::string(70'000, 'x'), std::string("\xff")}) {
    spill(only_file(), whole + tail);
    EXPECT_EQ(report().torn_bytes, tail.size());
    EXPECT_TRUE(report().is_intact());
    {
      auto log = open();
      ASSERT_TRUE(log->torn().has_value());
      EXPECT_EQ(log->torn()->bytes, tail.size());
      EXPECT_EQ(slurp(log->torn()->side_file), tail);
      call(*log);
    }
    auto result = report({.expected = {receipt}});
    EXPECT_TRUE(result.is_intact());
    EXPECT_EQ(result.torn_bytes, 0u);
    EXPECT_EQ(result.starts, 2u);
  }
}

TEST_F(RecoveryTest, a_file_without_a_whole_line_leaves_the_one_before) {
  auto settings = options();
  AuditReceipt receipt;
  {
    auto log = open();
    receipt = call(*log);
  }
  std::uint64_t next = report().head.seq + 1;
  for (std::string_view begun : {"", "{\"boo"}) {
    spill(segment_path(folder(), next), begun);
    auto log = open();
    call(*log);
    next = log->head().seq + 2;  // With the checkpoint of the end.
  }
  EXPECT_TRUE(report({.expected = {receipt}}).is_intact());
}

TEST_F(RecoveryTest, a_broken_chain_refuses_to_start) {
  {
    auto log = open();
    call(*log);
  }
  std::string text = slurp(only_file());
  struct Case {
    const char* name;
    std::string text;
  };
  std::string changed = text;
  changed.replace(changed.find("alice"), 5, "mallo");
  for (const Case& c : std::initializer_list<Case>{
           {"changed", changed},
           {"first line gone", text.substr(text.find('\n') + 1)},
           {"foreign line at the end", text + "{}\n"},
           {"blank line at the end", text + "\n"},
       }) {
    spill(only_file(), c.text);
    auto log = try_open(options());
    ASSERT_FALSE(log.has_value()) << c.name;
    EXPECT_EQ(log.error().kind(), base::ErrorKind::kCorrupt) << c.name;
    EXPECT_EQ(slurp(only_file()), c.text) << c.name;
  }
}

TEST_F(RecoveryTest, a_folder_that_is_open_to_others_is_closed_to_them) {
  using std::filesystem::perms;
  call(*open());
  std::string file = only_file();
  std::filesystem::permissions(folder(), perms::all);
  std::filesystem::permissions(file, perms::owner_read | perms::owner_write | perms::others_read);
  {
    auto log = open();
    ASSERT_EQ(log->notes().size(), 1u);
    EXPECT_THAT(log->notes()[0], ::testing::HasSubstr("open to others"));
  }
  EXPECT_EQ(std::filesystem::status(folder()).permissions(), perms::owner_all);
  EXPECT_EQ(std::filesystem::status(file).permissions(), perms::owner_read | perms::owner_write);
  EXPECT_TRUE(open()->notes().empty());
}

}  // namespace
}  // namespace tool::audit
