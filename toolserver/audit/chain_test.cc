#include "toolserver/audit/chain.h"

#include <gtest/gtest.h>

#include "base/json/canonical.h"
#include "toolserver/audit/fixture_test.h"

namespace tool::audit {
namespace {

using testing::sample;

const Origin kOrigin{"node-a", "00112233aabbccdd"};

std::string line_of(const CallRecord& record, RecordKind kind = RecordKind::kSeal) {
  ChainHead head;
  std::string line;
  link(head, open_line(record, kind, kOrigin), line);
  EXPECT_TRUE(line.ends_with('\n'));
  line.pop_back();
  return line;
}

CallRecord full() {
  CallRecord record = sample();
  record.bound_to = {"the-thumbprint-of-a-key", "the-hash-of-a-certificate"};
  record.args = R"({"a":1})";
  record.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  record.consent = "approved by bob for once";
  record.flow = "01JD0000000000000000000001/read";
  record.guard = "allowed";
  record.hop = 2;
  record.open_seq = 7;
  record.decision = Decision{"consent", Code::kConsent};
  return record;
}

TEST(LineTest, is_the_canonical_text_of_its_record) {
  for (const CallRecord& record : {CallRecord{}, sample(), full()}) {
    for (RecordKind kind : {RecordKind::kOpen, RecordKind::kSeal}) {
      std::string line = line_of(record, kind);
      auto parsed = base::json::parse(line);
      ASSERT_TRUE(parsed.has_value()) << line;
      EXPECT_EQ(*base::json::canonical(*parsed), line);
    }
  }
}

TEST(LineTest, holds_every_field) {
  auto json = base::json::parse(line_of(full()))->as_object();
  for (const char* key :
       {"args",   "args_mac", "boot", "consent", "decision", "flow", "guard", "hash",
        "hop",    "kind",     "node", "open",    "origin",   "peer", "prev",  "principal",
        "result", "rid",      "seq",  "sid",     "timing",   "tool", "trace", "ts"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json.size(), 24u);
  EXPECT_EQ(json.at("principal").at("cnf").at("jkt"), "the-thumbprint-of-a-key");
  EXPECT_EQ(json.at("principal").at("cnf").at("x5t#S256"), "the-hash-of-a-certificate");
  EXPECT_FALSE(base::json::parse(line_of(sample()))->at("principal").as_object().contains("cnf"));
  EXPECT_EQ(json.at("ts"), "2026-11-21T09:00:00.123456Z");
  EXPECT_EQ(json.at("decision").at("code"), "E_CONSENT");
  EXPECT_EQ(json.at("decision").at("verdict"), "refused");
}

TEST(LineTest, no_word_of_a_stranger_ends_a_line_or_begins_a_member) {
  for (const std::string& word :
       {std::string("x\n{\"kind\":\"seal\"}"), std::string("\",\"hash\":\"00"),
        std::string("\r\n\t\b\f"), std::string("\0\x1b[2J", 5), std::string("\\"),
        std::string("\xff\xfe"), std::string("\xE2\x80\xA8"), std::string(5000, '"')}) {
    CallRecord record = full();
    for (std::string* field : {&record.request_id, &record.session_id, &record.subject,
                               &record.issuer, &record.tool, &record.args_mac, &record.peer,
                               &record.trace, &record.consent, &record.flow, &record.guard}) {
      *field = word;
    }
    std::string line = line_of(record);
    EXPECT_EQ(line.find_first_of(std::string("\n\r\0", 3)), std::string::npos);
    ChainHead head;
    auto read = follow(head, line);
    ASSERT_TRUE(read.has_value()) << line;
    EXPECT_EQ(read->size(), 24u);
    EXPECT_EQ(read->at("kind"), "seal");
  }
}

TEST(LineTest, long_texts_are_cut_at_the_end_of_a_character) {
  CallRecord record = sample();
  for (std::size_t before : {1021u, 1022u, 1023u, 1024u}) {
    record.subject = std::string(before, 'a') + "\xE2\x82\xAC\xE2\x82\xAC";
    auto json = base::json::parse(line_of(record))->as_object();
    auto text = json.at("principal").at("sub").as_string();
    EXPECT_EQ(text.size(), before == 1021 ? 1024u : before) << before;
  }
}

TEST(ChainTest, follows_what_it_linked) {
  ChainHead writer;
  ChainHead reader;
  for (int i = 0; i < 5; ++i) {
    std::string line;
    if (i % 2 == 0) {
      link(writer, open_line(full(), RecordKind::kSeal, kOrigin), line);
    } else {
      link(writer, base::json::Object{{"kind", "event"}, {"node", "n"}, {"boot", "b"}, {"ts", "t"}},
           line);
    }
    line.pop_back();
    ASSERT_TRUE(follow(reader, line).has_value()) << line;
    EXPECT_EQ(reader, writer);
  }
  EXPECT_EQ(reader.seq, 5u);
}

// So that a program in another language can check the chain from the text.
TEST(ChainTest, hashes_the_previous_hash_and_the_record_without_its_own) {
  ChainHead head;
  std::string line;
  link(head, base::json::Object{{"kind", "event"}, {"node", "n"}, {"boot", "b"}, {"ts", "t"}},
       line);
  std::string record = R"({"boot":"b","kind":"event","node":"n","prev":")" + std::string(64, '0') +
                       R"(","seq":1,"ts":"t"})";
  auto expected = base::crypto::sha256(std::string(32, '\0') + record);
  EXPECT_EQ(head.hash, expected);
}

TEST(ChainTest, names_the_rule_that_a_line_breaks) {
  std::string line = line_of(sample());
  auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = line;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  struct Case {
    const char* name;
    std::string line;
    LineFault fault;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"empty", "", LineFault::kNotJson},
           {"half", line.substr(0, line.size() / 2), LineFault::kNotJson},
           {"array", "[]", LineFault::kNotJson},
           {"two keys alike", with("{", R"({"args_mac":"x",)"), LineFault::kNotJson},
           {"white space", with(",", ", "), LineFault::kNotCanonical},
           {"other escape", with("alice", "\\u0061lice"), LineFault::kNotCanonical},
           {"other order", with("{", R"({"zz":1,)"), LineFault::kNotCanonical},
           {"no hash", R"({"kind":"x"})", LineFault::kFields},
           {"no node", with(R"("node":"node-a",)", ""), LineFault::kFields},
           {"seq as text", with(R"("seq":1)", R"("seq":"1")"), LineFault::kFields},
           {"later seq", with(R"("seq":1)", R"("seq":2)"), LineFault::kSeq},
           {"other prev", with("\"prev\":\"0", "\"prev\":\"1"), LineFault::kPrev},
           {"other tool", with("sql.query", "sql.querz"), LineFault::kHash},
           {"a member more", with(R"("tool")", R"("to":1,"tool")"), LineFault::kHash},
       }) {
    ChainHead head;
    auto result = follow(head, c.line);
    ASSERT_FALSE(result.has_value()) << c.name;
    EXPECT_EQ(name(result.error()), name(c.fault)) << c.name;
    EXPECT_EQ(head, ChainHead{}) << c.name;
  }
}

}  // namespace
}  // namespace tool::audit
