#include "toolserver/audit/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/json/canonical.h"
#include "toolserver/audit/fixture_test.h"

namespace tool::audit {
namespace {

using testing::AuditTest;
using testing::lines_of;
using testing::sample;
using testing::slurp;
using testing::spill;
using testing::test_secret;

class VerifyTest : public AuditTest {
 protected:
  // start, three calls of two lines, one refusal, a checkpoint.
  void make_trail() {
    auto log = open();
    for (int i = 0; i < 3; ++i) receipts_.push_back(call(*log, sample(fmt::format("r{}", i))));
    auto refused = sample("r3");
    refused.decision = Decision{"authorise", Code::kScope};
    refused.outcome.reset();
    receipts_.push_back(seal(*log, refused));
  }
  std::vector<std::string> lines() { return lines_of(slurp(only_file())); }
  void rewrite(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    spill(only_file(), text);
  }
  // The same records with every hash counted anew, as a forger would.
  static std::vector<std::string> relinked(const std::vector<std::string>& lines) {
    ChainHead head;
    std::vector<std::string> out;
    for (const auto& line : lines) {
      auto record = base::json::parse(line)->as_object();
      record.erase("hash");
      std::string text;
      link(head, record, text);
      text.pop_back();
      out.push_back(text);
    }
    return out;
  }

  std::vector<AuditReceipt> receipts_;
};

TEST_F(VerifyTest, a_trail_as_written_is_intact) {
  make_trail();
  auto result = report({.expected = receipts_});
  EXPECT_TRUE(result.is_intact());
  EXPECT_TRUE(result.signatures_checked);
  EXPECT_EQ(result.lines, 9u);
  EXPECT_EQ(result.calls, 3u);
  EXPECT_EQ(result.refused, 1u);
  EXPECT_EQ(result.starts, 1u);
  EXPECT_EQ(result.checkpoints, 1u);
  EXPECT_EQ(result.unsigned_tail, 0u);
  EXPECT_EQ(result.signed_seq, 8u);
  ASSERT_EQ(result.keys.size(), 1u);
  EXPECT_EQ(result.keys[0].kid, "secret");
  EXPECT_EQ(result.interrupted_count, 0u);
  EXPECT_EQ(result.unfinished, 0u);
  EXPECT_EQ(result.head.seq, 9u);
  EXPECT_EQ(result.to_json().at("intact"), true);
}

TEST_F(VerifyTest, finds_every_change_of_every_member) {
  make_trail();
  auto original = lines();
  int changes = 0;
  for (std::size_t i = 0; i < original.size(); ++i) {
    auto record = base::json::parse(original[i])->as_object();
    for (const auto& member : record) {
      auto changed = record;
      auto& value = changed[member.key()];
      if (value.is_string()) {
        value.as_string().back() = value.as_string().back() == '0' ? '1' : '0';
      } else if (value.is_object()) {
        value.as_object()["x"] = 1;
      } else {
        value = value.to_number<std::int64_t>() + 1;
      }
      auto tampered = original;
      tampered[i] = *base::json::canonical(changed);
      rewrite(tampered);
      auto result = report();
      ASSERT_TRUE(result.broken.has_value()) << i << " " << member.key();
      EXPECT_EQ(result.broken->line, i + 1) << member.key();
      EXPECT_FALSE(result.is_intact());
      ++changes;
    }
  }
  EXPECT_GT(changes, 100);
}

TEST_F(VerifyTest, finds_lines_that_were_moved_or_removed) {
  make_trail();
  auto original = lines();
  using Change = std::function<void(std::vector<std::string>&)>;
  struct Case {
    const char* name;
    Change change;
    std::uint64_t line;
    std::string_view rule;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"first dropped", [](auto& l) { l.erase(l.begin()); }, 1, "seq"},
           {"middle dropped", [](auto& l) { l.erase(l.begin() + 3); }, 4, "seq"},
           {"swapped", [](auto& l) { std::swap(l[2], l[3]); }, 3, "seq"},
           {"twice", [](auto& l) { l.insert(l.begin() + 3, l[2]); }, 4, "seq"},
           {"foreign line", [](auto& l) { l.insert(l.begin() + 3, "{}"); }, 4, "fields"},
           {"text", [](auto& l) { l.insert(l.begin() + 3, "hello"); }, 4, "not_json"},
           {"blank line", [](auto& l) { l.insert(l.begin() + 3, ""); }, 4, "not_json"},
       }) {
    auto tampered = original;
    c.change(tampered);
    rewrite(tampered);
    auto result = report();
    ASSERT_TRUE(result.broken.has_value()) << c.name;
    EXPECT_EQ(result.broken->line, c.line) << c.name;
    EXPECT_EQ(result.broken->rule, c.rule) << c.name;
  }
}

TEST_F(VerifyTest, a_chain_counted_anew_breaks_at_the_checkpoint) {
  make_trail();
  auto tampered = lines();
  tampered[2].replace(tampered[2].find("alice"), 5, "mallo");
  tampered = relinked(tampered);
  rewrite(tampered);
  auto result = report();
  ASSERT_TRUE(result.broken.has_value());
  EXPECT_EQ(result.broken->line, 9u);
  EXPECT_EQ(result.broken->rule, "covers");
  // Without a key that is all that can be seen: the chain alone is sound.
  auto unchecked = verify(folder(), CheckpointKeys{});
  ASSERT_TRUE(unchecked.has_value());
  EXPECT_TRUE(unchecked->is_intact());
  EXPECT_FALSE(unchecked->signatures_checked);
}

TEST_F(VerifyTest, a_forged_checkpoint_is_no_checkpoint) {
  make_trail();
  auto original = lines();
  auto checkpoint = base::json::parse(original.back())->as_object();
  using Change = std::function<void(base::json::Object&)>;
  struct Case {
    const char* name;
    Change change;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"other signature", [](auto& r) { r["sig"].as_object()["v"] = std::string(43, 'A'); }},
           {"empty signature", [](auto& r) { r["sig"].as_object()["v"] = ""; }},
           {"not base64url", [](auto& r) { r["sig"].as_object()["v"] = "+/=="; }},
           {"unknown key", [](auto& r) { r["sig"].as_object()["kid"] = "other"; }},
           {"no signature", [](auto& r) { r.erase("sig"); }},
           {"other node", [](auto& r) { r["node"] = "node-b"; }},
           {"other time", [](auto& r) { r["ts"] = "2027-01-01T00:00:00.000000Z"; }},
           {"other seq", [](auto& r) { r["covers"].as_object()["seq"] = 7; }},
           {"negative seq", [](auto& r) { r["covers"].as_object()["seq"] = -1; }},
           {"other hash", [](auto& r) { r["covers"].as_object()["h"] = std::string(64, 'a'); }},
           {"short hash", [](auto& r) { r["covers"].as_object()["h"] = "aa"; }},
           {"nothing covered", [](auto& r) { r.erase("covers"); }},
       }) {
    auto forged = checkpoint;
    c.change(forged);
    auto tampered = original;
    tampered.back() = base::json::write(forged);
    rewrite(relinked(tampered));
    auto result = report();
    ASSERT_TRUE(result.broken.has_value()) << c.name;
    EXPECT_EQ(result.broken->rule, "signature") << c.name;
  }
}

TEST_F(VerifyTest, a_checkpoint_of_another_trail_does_not_cover_this_one) {
  make_trail();
  auto foreign = base::json::parse(lines().back())->as_object();
  auto tampered = lines();
  tampered[1].replace(tampered[1].find("alice"), 5, "mallo");
  tampered.pop_back();
  tampered = relinked(tampered);
  tampered.push_back(base::json::write(foreign));
  rewrite(relinked(tampered));
  auto result = report();
  ASSERT_TRUE(result.broken.has_value());
  EXPECT_EQ(result.broken->rule, "covers");
}

TEST_F(VerifyTest, a_trail_stripped_of_its_checkpoints_is_not_intact) {
  auto settings = options();
  settings.checkpoint_records = 10;
  {
    auto log = open(settings);
    for (int i = 0; i < 30; ++i) seal(*log);
  }
  auto all = lines();
  std::erase_if(all, [](const auto& line) { return line.contains("\"checkpoint\""); });
  rewrite(relinked(all));
  auto result = report({.checkpoint_records = 10});
  EXPECT_FALSE(result.broken.has_value());
  EXPECT_TRUE(result.is_tail_too_long);
  EXPECT_EQ(result.unsigned_tail, 31u);
  EXPECT_FALSE(result.is_intact());
}

TEST_F(VerifyTest, an_end_that_was_cut_off_is_missed_by_its_receipts) {
  make_trail();
  auto cut = lines();
  cut.resize(cut.size() - 3);
  rewrite(cut);
  EXPECT_TRUE(report().is_intact());
  auto result = report({.expected = receipts_});
  EXPECT_FALSE(result.is_intact());
  ASSERT_EQ(result.missing.size(), 2u);
  EXPECT_EQ(result.missing[0], receipts_[2]);
  EXPECT_EQ(result.missing[1], receipts_[3]);
}

TEST_F(VerifyTest, calls_without_an_end_are_named) {
  {
    auto log = open();
    ASSERT_TRUE(log->open_call(sample("lost")).has_value());
    call(*log, sample("fine"));
  }
  auto running = report();
  EXPECT_EQ(running.unfinished, 1u);
  EXPECT_EQ(running.interrupted_count, 0u);
  open();
  auto result = report();
  EXPECT_TRUE(result.is_intact());
  EXPECT_EQ(result.unfinished, 0u);
  ASSERT_EQ(result.interrupted_count, 1u);
  EXPECT_EQ(result.interrupted[0].request_id, "lost");
  EXPECT_EQ(result.interrupted[0].tool, "sql.query");
}

// What operators do to a trail, and what forgers do: the first must not raise
// an alarm, or nobody heeds the second.
class OperatedTest : public VerifyTest {
 protected:
  struct Keys {
    CheckpointKeys keys;
    VerifyOptions options;
    std::string path;  // The folder, when empty.
  };

  struct Case {
    const char* name;
    std::function<void()> act;
    std::function<Keys()> given;
    Verdict verdict;
    std::string_view rule = {};
  };

  OperatedTest() {
    knows_secret_.old_keys.add(test_secret());
    pair_keys_.add(pair_.verify_key());
    new_keys_.add(new_secret());
    both_.add(new_secret());
    both_.add(test_secret());
    rare_.checkpoint_records = 5'000;
  }

  std::vector<Case> quiet_cases();
  std::vector<Case> loud_cases();
  static std::function<Keys()> plain() {
    return [] { return Keys{secret_keys(), {}, {}}; };
  }

  [[nodiscard]] static CheckpointKeys secret_keys() {
    CheckpointKeys keys;
    keys.add(test_secret());
    return keys;
  }
  [[nodiscard]] static base::Secret new_secret() {
    return base::Secret("another secret of the tests, 32+");
  }
  // One run of the service: some calls, and a clean end.
  void serve(const CheckpointSigner& signer, int calls = 5, AuditOptions settings = {}) {
    settings.folder = folder();
    settings.node = "node-a";
    auto log = AuditLog::open(settings, signer, clock_, random_);
    ASSERT_TRUE(log.has_value()) << log.error().message();
    for (int i = 0; i < calls; ++i) last_ = call(**log);
  }
  void serve(int calls = 5, AuditOptions settings = {}) {
    serve(CheckpointSigner::with_secret(test_secret()), calls, std::move(settings));
  }
  void serve_files() {
    AuditOptions settings;
    settings.segment_bytes = 2'000;
    serve(20, settings);
  }
  [[nodiscard]] std::string file(std::size_t index) {
    return list_segments(folder())->at(index).path;
  }
  void change_lines(const std::function<void(std::vector<std::string>&)>& change) {
    auto all = lines();
    change(all);
    rewrite(relinked(all));
  }
  static void forge(std::vector<std::string>& all) {
    std::erase_if(all, [](const auto& line) { return line.contains("\"checkpoint\""); });
    for (auto& line : all) {
      if (auto at = line.find("alice"); at != std::string::npos) line.replace(at, 5, "mallo");
    }
  }

  base::crypto::SigningKey pair_ =
      base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519);
  CheckpointSigner pair_signer_ = CheckpointSigner::with_key(pair_);
  CheckpointSigner new_signer_ = CheckpointSigner::with_secret(new_secret());
  AuditOptions knows_secret_;  // And the key of today.
  AuditOptions rare_;          // Checkpoints, that is.
  CheckpointKeys pair_keys_;
  CheckpointKeys new_keys_;
  CheckpointKeys both_;
  AuditReceipt last_;
};

// What operators do to a trail.
std::vector<OperatedTest::Case> OperatedTest::quiet_cases() {
  return {
      {"served and stopped", [&] { serve(); }, plain(), Verdict::kIntact},
      {"served twice", [&] { serve(), serve(); }, plain(), Verdict::kIntact},
      {"first file moved away", [&] { serve_files(), std::filesystem::remove(file(0)); }, plain(),
       Verdict::kIntact},
      {"first files moved away, and served again",
       [&] { serve_files(), std::filesystem::remove(file(0)), serve(); }, plain(),
       Verdict::kIntact},
      {"the first archived file alone", [&] { serve_files(); },
       [&] { return Keys{secret_keys(), {}, file(0)}; }, Verdict::kIntact},
      {"an archived file from the middle", [&] { serve_files(); },
       [&] { return Keys{secret_keys(), {}, file(2)}; }, Verdict::kIntact},
      {"an archived file under another name",
       [&] { serve_files(), std::filesystem::copy(file(2), folder_.path() + "/old"); },
       [&] { return Keys{secret_keys(), {}, folder_.path() + "/old"}; }, Verdict::kIntact},
      {"secret changed, the old one configured",
       [&] { serve(), serve(new_signer_, 5, knows_secret_); },
       [&] { return Keys{new_keys_, {}, {}}; }, Verdict::kIntact},
      {"secret changed, both given", [&] { serve(), serve(new_signer_, 5, knows_secret_); },
       [&] { return Keys{both_, {}, {}}; }, Verdict::kIntact},
      {"key pair set on a trail that is there",
       [&] { serve(), serve(pair_signer_, 5, knows_secret_); },
       [&] { return Keys{pair_keys_, {}, {}}; }, Verdict::kIntact},
      {"fewer checkpoints than the verifier expects", [&] { serve(1'500, rare_); },
       [&] { return Keys{secret_keys(), {.checkpoint_records = 100}, {}}; }, Verdict::kIntact},
      {"a crash that the operator knows of",
       [&] { serve(), change_lines([](auto& l) { l.pop_back(); }), serve(); },
       [&] { return Keys{secret_keys(), {.accepted = {{1, 11}}}, {}}; }, Verdict::kIntact},
      {"receipt and witness in order", [&] { serve(); },
       [&] { return Keys{secret_keys(), {.expected = {last_}}, {}}; }, Verdict::kIntact},
  };
}

// What forgers do to it.
std::vector<OperatedTest::Case> OperatedTest::loud_cases() {
  return {
      {"forged and relinked, then restarted", [&] { serve(), change_lines(forge), serve(); },
       plain(), Verdict::kUnsigned},
      {"forged to its first line, restarted twice",
       [&] { serve(), serve(), change_lines(forge), serve(), serve(); }, plain(),
       Verdict::kUnsigned},
      {"the last checkpoint removed, then restarted",
       [&] { serve(), serve(), change_lines([](auto& l) { l.pop_back(); }), serve(); }, plain(),
       Verdict::kUnsigned},
      {"a line changed and relinked before a checkpoint",
       [&] {
         serve();
         change_lines([](auto& l) { l[1].replace(l[1].find("alice"), 5, "mallo"); });
       },
       plain(), Verdict::kBroken, "covers"},
      {"a file from the middle moved away",
       [&] { serve_files(), std::filesystem::remove(file(2)); }, plain(), Verdict::kBroken, "seq"},
      {"the first file moved away, and the first line demanded",
       [&] { serve_files(), std::filesystem::remove(file(0)); },
       [&] { return Keys{secret_keys(), {.first_seq = 1}, {}}; }, Verdict::kBroken, "seq"},
      {"a key that did not sign", [&] { serve(); }, [&] { return Keys{pair_keys_, {}, {}}; },
       Verdict::kBroken, "signature"},
      {"an old key alone", [&] { serve(), serve(new_signer_, 5, knows_secret_); }, plain(),
       Verdict::kBroken, "signature"},
      {"the end cut off, and a receipt of it",
       [&] { serve(), change_lines([](auto& l) { l.resize(5); }); },
       [&] { return Keys{secret_keys(), {.expected = {last_}}, {}}; }, Verdict::kBroken},
      {"the end cut off at a checkpoint, and a witness of the next", [&] { serve(); },
       [&] {
         ChainHead later;
         later.seq = 400;
         return Keys{secret_keys(), {.witnessed = {later}}, {}};
       },
       Verdict::kBroken},
      {"a long end with a start of the forger's own",
       [&] {
         serve(30);
         change_lines([](auto& l) {
           forge(l);
           l.insert(l.end() - 2, l.front());
         });
       },
       [&] { return Keys{secret_keys(), {.checkpoint_records = 10}, {}}; }, Verdict::kBroken},
      {"all checkpoints removed from a long end", [&] { serve(30), change_lines(forge); },
       [&] { return Keys{secret_keys(), {.checkpoint_records = 10}, {}}; }, Verdict::kBroken},
  };
}

TEST_F(OperatedTest, what_operators_do_is_quiet_and_what_forgers_do_is_loud) {
  auto cases = quiet_cases();
  for (auto& one : loud_cases()) cases.push_back(std::move(one));
  for (const auto& c : cases) {
    std::filesystem::remove_all(folder());
    c.act();
    auto given = c.given();
    auto result = verify(given.path.empty() ? folder() : given.path, given.keys, given.options);
    ASSERT_TRUE(result.has_value()) << c.name;
    EXPECT_EQ(name(result->verdict()), name(c.verdict)) << c.name << "\n" << result->to_text();
    if (!c.rule.empty()) {
      EXPECT_EQ(result->broken.value_or(BrokenLine()).rule, c.rule) << c.name;
    }
    EXPECT_EQ(result->to_json().at("intact"), c.verdict == Verdict::kIntact) << c.name;
  }
}

TEST_F(OperatedTest, the_secret_proves_nothing_after_a_key_pair) {
  AuditOptions knows_secret;
  knows_secret.old_keys.add(test_secret());
  serve();
  serve(CheckpointSigner::with_key(pair_), 5, knows_secret);
  // Who holds the secret goes on with it.
  auto all = lines();
  ChainHead head;
  for (const auto& line : all) ASSERT_TRUE(follow(head, line).has_value());
  std::string forged;
  auto checkpoint = CheckpointSigner::with_secret(test_secret())
                        .sign(head, Origin{"node-a", "boot"}, clock_.now());
  link(head, *checkpoint, forged);
  spill(only_file(), slurp(only_file()) + forged);
  CheckpointKeys keys = secret_keys();
  keys.add(pair_.verify_key());
  auto result = verify(folder(), keys);
  ASSERT_TRUE(result->broken.has_value());
  EXPECT_EQ(result->broken->rule, "weaker_key");
}

TEST_F(VerifyTest, says_in_words_what_is_proven) {
  using ::testing::HasSubstr;
  {
    auto log = open();
    EXPECT_THAT(report().to_text(), HasSubstr("Intact, but nothing was signed yet"));
    call(*log);
    EXPECT_THAT(report().to_text(), HasSubstr("the last 3 lines are not signed yet"));
  }
  EXPECT_TRUE(report().to_text().starts_with("Intact: ")) << report().to_text();
  EXPECT_THAT(report().to_text(), HasSubstr("signed by the shared secret from line"));
  EXPECT_THAT(verify(folder(), {})->to_text(), HasSubstr("No signature was checked"));
  auto all = lines();
  all[1].replace(all[1].find("alice"), 5, "mallo");
  rewrite(all);
  EXPECT_TRUE(report().to_text().starts_with("NOT INTACT: "));
  EXPECT_THAT(report().to_text(), HasSubstr("it was changed"));
}

TEST_F(VerifyTest, checks_signatures_of_every_kind_of_key) {
  for (auto type : {base::crypto::KeyType::kEd25519, base::crypto::KeyType::kRsa}) {
    auto key = base::crypto::SigningKey::generate(type);
    auto settings = options();
    settings.folder += type == base::crypto::KeyType::kRsa ? "-rsa" : "-ed";
    {
      auto log = AuditLog::open(settings, CheckpointSigner::with_key(key), clock_, random_);
      ASSERT_TRUE(log.has_value());
      seal(**log);
    }
    CheckpointKeys right;
    right.add(key.verify_key());
    EXPECT_TRUE(verify(settings.folder, right)->is_intact());
    CheckpointKeys wrong;
    wrong.add(base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519).verify_key());
    wrong.add(test_secret());
    auto refused = verify(settings.folder, wrong);
    ASSERT_TRUE(refused->broken.has_value());
    EXPECT_EQ(refused->broken->rule, "signature");
  }
}

TEST_F(VerifyTest, there_must_be_a_trail) {
  auto none = verify(folder_.path() + "/none", CheckpointKeys{});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind(), base::ErrorKind::kNotFound);
  auto empty = verify(folder_.path(), CheckpointKeys{});
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().kind(), base::ErrorKind::kNotFound);
}

}  // namespace
}  // namespace tool::audit
