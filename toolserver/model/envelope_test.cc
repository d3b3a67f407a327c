#include "toolserver/model/envelope.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json/canonical.h"

namespace tool {
namespace {

constexpr std::string_view kRequest =
    R"({"v":"3.0","t":"req","id":"01J00000000000000000000000","op":"tool.invoke",)"
    R"("ts":1795251600123,"n":"AAECAwQFBgcICQoLDA0ODw","aud":"node-b","p":{"tool":"sql.query"}})";

// The request with one piece of its text replaced.
std::string with(std::string_view piece, std::string_view other) {
  std::string text(kRequest);
  std::size_t at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return text.replace(at, piece.size(), other);
}

Code refusal(std::string_view text) {
  auto envelope = parse_envelope(text);
  EXPECT_FALSE(envelope.has_value()) << text;
  return envelope ? Code::kInternal : envelope.error().code;
}

TEST(EnvelopeTest, reads_every_member) {
  auto envelope = parse_envelope(kRequest);
  ASSERT_TRUE(envelope.has_value()) << envelope.error().message;
  EXPECT_EQ(envelope->version, "3.0");
  EXPECT_EQ(envelope->type, MessageType::kReq);
  EXPECT_EQ(envelope->id.text(), "01J00000000000000000000000");
  EXPECT_EQ(envelope->op, "tool.invoke");
  EXPECT_EQ(envelope->time.time_since_epoch().count(), 1795251600123);
  EXPECT_EQ(envelope->nonce[15], 15);
  EXPECT_EQ(envelope->audience, "node-b");
  EXPECT_EQ(envelope->payload.at("tool").as_string(), "sql.query");
  EXPECT_FALSE(envelope->meta || envelope->signature);
}

TEST(EnvelopeTest, writes_the_canonical_form_of_what_it_read) {
  std::string digest(43, 'A');
  const std::vector<std::string> texts = {
      std::string(kRequest),
      with(R"("p":)", R"("meta":{"deadline_ms":30000},"p":)"),
      with(
          R"("p":)",
          R"("meta":{"traceparent":"00-9415928c958e290ecfdc761e662e1e17-25f5b099c8349ee9-01"},"p":)"),
      with(R"("p":)", R"("meta":{},"p":)"),
      with(R"("p":)", R"("meta":{"deadline_ms":1,"later":[1.50]},"p":)"),
      with(R"("p":)", R"("x":{"b":1,"a":2},"é":"Ж","p":)"),
      with(R"("p":)", R"("seq":4,"p":)"),
      with(R"("t":"req")", R"("t":"evt","seq":7)"),
      with(R"("op":)", R"( "op" : )"),
      with(R"({"tool":"sql.query"})", R"({"b":1.0,"a":[true,null,-0.0,1.5e-9,"\u0041\n"]})"),
  };
  for (const auto& text : texts) {
    auto envelope = parse_envelope(text);
    ASSERT_TRUE(envelope.has_value()) << text << envelope.error().message;
    auto wanted = base::json::canonical(*base::json::parse(text));
    EXPECT_EQ(*canonical_without_sig(*envelope), *wanted) << text;

    envelope->signature = MessageSignature{.algorithm = "HS256", .key_id = "c"};
    auto tree = *base::json::parse(text);
    tree.as_object()["sig"] = {{"alg", "HS256"}, {"kid", "c"}, {"v", digest}};
    EXPECT_EQ(*write_envelope(*envelope), *base::json::canonical(tree)) << text;
    EXPECT_EQ(*canonical_without_sig(*envelope), *wanted) << text;
    auto again = parse_envelope(*write_envelope(*envelope));
    ASSERT_TRUE(again.has_value()) << text;
    EXPECT_EQ(*write_envelope(*again), *write_envelope(*envelope));
  }
}

// Its canonical form would be an integer beyond 2^53-1, which is refused.
TEST(EnvelopeTest, a_large_double_is_signed_in_canonical_form_and_sent_in_another) {
  for (std::string_view value : {"1e20", "-1e20", "9007199254740992.0", "1.2345678901234567e19",
                                 "999999999999999900000.0"}) {
    for (const auto& text : {with(R"("sql.query")", value),
                             with(R"("p":)", R"("x":[)" + std::string(value) + R"(],"p":)")}) {
      auto envelope = parse_envelope(text);
      ASSERT_TRUE(envelope.has_value()) << text;
      auto again = parse_envelope(*write_envelope(*envelope));
      ASSERT_TRUE(again.has_value()) << *write_envelope(*envelope);
      EXPECT_EQ(*canonical_without_sig(*again), *canonical_without_sig(*envelope));
      EXPECT_FALSE(parse_envelope(*canonical_without_sig(*envelope)).has_value());
    }
  }
}

// Counts of our own are unsigned in the tree; they must not hide the double.
TEST(EnvelopeTest, a_large_double_beside_a_count_is_sent_as_a_double) {
  auto envelope = *parse_envelope(with(R"("sql.query")", "1"));
  envelope.payload = {{"bytes", std::size_t{198}}, {"rows", {{1e20}}}};
  auto again = parse_envelope(*write_envelope(envelope));
  ASSERT_TRUE(again.has_value()) << *write_envelope(envelope);
  EXPECT_EQ(again->payload.at("rows"), envelope.payload.at("rows"));
}

TEST(EnvelopeTest, signing_in_one_pass_gives_the_same_text) {
  auto envelope = *parse_envelope(with(R"("t":"req")", R"("t":"evt","seq":9007199254740991)"));
  MessageSignature signature{.algorithm = "HS256", .key_id = "s", .value = {1, 2, 3}};
  auto text = with_signature(*write_unsigned(envelope), signature);
  envelope.signature = signature;
  EXPECT_EQ(text, *write_envelope(envelope));
}

TEST(EnvelopeTest, a_payload_that_was_written_before_gives_the_same_text) {
  auto envelope = *parse_envelope(with(R"("t":"req")", R"("t":"evt","seq":7)"));
  auto whole = *write_unsigned(envelope);
  const WrittenPayload payload{*base::json::canonical(envelope.payload)};
  envelope.payload = {{"not", "this"}};
  auto again = write_unsigned(envelope, payload);
  EXPECT_EQ(again.text, whole.text);
  EXPECT_EQ(again.signature_at, whole.signature_at);
}

TEST(EnvelopeTest, a_missing_member_is_a_wrong_shape_and_is_named) {
  auto tree = base::json::parse(kRequest)->as_object();
  for (std::string_view member : {"v", "t", "id", "op", "ts", "n", "aud", "p"}) {
    auto copy = tree;
    copy.erase({member.data(), member.size()});
    auto envelope = parse_envelope(base::json::write(copy));
    ASSERT_FALSE(envelope.has_value()) << member;
    EXPECT_EQ(envelope.error().code, Code::kShape);
    EXPECT_TRUE(envelope.error().message.starts_with(std::string(member) + ":")) << member;
  }
}

TEST(EnvelopeTest, refuses_a_member_that_breaks_its_rule) {
  struct Case {
    std::string_view piece, other;
  };
  const std::vector<Case> cases = {
      {R"("3.0")", R"("3.1")"},
      {R"("3.0")", "3.0"},
      {R"("req")", R"("request")"},
      {R"("req")", R"("REQ")"},
      {R"("req")", "null"},
      {R"("t":"req")", R"("t":"evt")"},  // Without seq.
      {R"("t":"req")", R"("t":"evt","seq":-1)"},
      {R"("t":"req")", R"("t":"evt","seq":1.5)"},
      {R"("t":"req")", R"("t":"req","seq":"1")"},
      {"01J00000000000000000000000", "81J00000000000000000000000"},
      {"01J00000000000000000000000", "01J0000000000000000000000"},
      {"01J00000000000000000000000", "01J000000000000000000000000"},
      {"01J00000000000000000000000", "01j00000000000000000000000"},
      {"01J00000000000000000000000", "01I00000000000000000000000"},
      {R"("01J00000000000000000000000")", "7"},
      {"tool.invoke", ""},
      {"tool.invoke", "tool.Invoke"},
      {"tool.invoke", "tool-invoke"},
      {"tool.invoke", "abcdefghijklmnopqrstuvwxyz.______"},  // 33
      {"1795251600123", "-1"},
      {"1795251600123", "1795251600123.0"},
      {"1795251600123", R"("1795251600123")"},
      {"AAECAwQFBgcICQoLDA0ODw", "AAECAwQFBgcICQoLDA0OD"},
      {"AAECAwQFBgcICQoLDA0ODw", "AAECAwQFBgcICQoLDA0ODx"},  // Trailing bits.
      {"AAECAwQFBgcICQoLDA0ODw", "AAECAwQFBgcICQoLDA0ODw=="},
      {"AAECAwQFBgcICQoLDA0ODw", "AAECAwQFBgcICQoLDA0O/w"},
      {R"("node-b")", "[]"},
      {R"({"tool":"sql.query"})", "[]"},
      {R"({"tool":"sql.query"})", "null"},
      {R"("p":)", R"("meta":[],"p":)"},
      {R"("p":)", R"("meta":{"deadline_ms":0},"p":)"},
      {R"("p":)", R"("meta":{"deadline_ms":300001},"p":)"},
      {R"("p":)", R"("meta":{"deadline_ms":1.5},"p":)"},
      {R"("p":)", R"("meta":{"traceparent":"00"},"p":)"},
      {R"("p":)",
       R"("meta":{"traceparent":"00-00000000000000000000000000000000-25f5b099c8349ee9-01"},"p":)"},
      {R"("p":)",
       R"("meta":{"traceparent":"ff-9415928c958e290ecfdc761e662e1e17-25f5b099c8349ee9-01"},"p":)"},
      {R"("p":)", R"("sig":"","p":)"},
      {R"("p":)", R"("sig":{"alg":"HS256","kid":"c"},"p":)"},
      {R"("p":)", R"("sig":{"alg":"HS256","kid":"c","v":"AA"},"p":)"},
      {R"("p":)",
       R"("sig":{"alg":"HS256","kid":"c","v":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","x":1},"p":)"},
      {R"("p":)",
       R"("sig":{"alg":null,"kid":"c","v":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},"p":)"},
  };
  for (const auto& [piece, other] : cases)
    EXPECT_EQ(refusal(with(piece, other)), Code::kShape) << other;
  EXPECT_EQ(refusal("[]"), Code::kShape);
  EXPECT_EQ(refusal("3"), Code::kShape);
}

TEST(EnvelopeTest, takes_both_ends_of_every_range) {
  struct Case {
    std::string_view piece, other;
  };
  const std::vector<Case> cases = {
      {"01J00000000000000000000000", "00000000000000000000000000"},
      {"01J00000000000000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
      {"tool.invoke", "a"},
      {"tool.invoke", "abcdefghijklmnopqrstuvwxyz._____"},  // 32
      {"1795251600123", "0"},
      {"1795251600123", "9007199254740991"},
      {R"("node-b")", R"("")"},
      {R"("p":)", R"("meta":{"deadline_ms":1},"p":)"},
      {R"("p":)", R"("meta":{"deadline_ms":300000},"p":)"},
  };
  for (const auto& [piece, other] : cases) {
    EXPECT_TRUE(parse_envelope(with(piece, other)).has_value()) << other;
  }
}

TEST(EnvelopeTest, only_a_hello_may_have_another_version) {
  std::string hello = with("tool.invoke", "session.hello");
  for (std::string_view version : {"3.0", "3.7", "4.0", "999.999"}) {
    std::string text = hello;
    text.replace(text.find("3.0"), 3, version);
    EXPECT_TRUE(parse_envelope(text).has_value()) << version;
  }
  for (std::string_view version :
       {"", "3", "3.", ".0", "03.0", "3.00", "1000.0", "3.0.0", "3,0", "-3.0"}) {
    std::string text = hello;
    text.replace(text.find("3.0"), 3, version);
    EXPECT_EQ(refusal(text), Code::kShape) << version;
  }
}

TEST(EnvelopeTest, refuses_what_is_not_ijson) {
  std::string deep(64, '[');
  deep += std::string(64, ']');
  const std::vector<std::string> texts = {
      "",
      " ",
      "{",
      std::string(kRequest) + "x",
      with(R"("p":)", R"("v":"3.0","p":)"),
      with(R"("tool":"sql.query")", R"("a":1,"\u0061":2)"),
      with("sql.query", "\xff"),
      with("sql.query", R"(\ud800)"),
      with(R"("sql.query")", "9007199254740992"),
      with(R"("sql.query")", "-9007199254740992"),
      with(R"("sql.query")", "18446744073709551615"),
      with(R"("sql.query")", "100000000000000000000000000"),
      with(R"("sql.query")", "1e999"),
      with(R"("sql.query")", "NaN"),
      with(R"("sql.query")", deep),
  };
  for (const auto& text : texts) EXPECT_EQ(refusal(text), Code::kParse) << text;
}

TEST(EnvelopeTest, numbers_at_the_limits_are_taken) {
  std::string deep(62, '[');
  deep += std::string(62, ']');
  for (std::string_view value : std::initializer_list<std::string_view>{
           "9007199254740991", "-9007199254740991", "1e300", "1e20", "9007199254740993.0",
           R"("100000000000000000000000000")", deep}) {
    EXPECT_TRUE(parse_envelope(with(R"("sql.query")", value)).has_value()) << value;
  }
}

TEST(EnvelopeTest, bounds_hold_at_both_ends) {
  MessageLimits limits{.bytes = kRequest.size()};
  EXPECT_TRUE(parse_envelope(kRequest, limits).has_value());
  limits.bytes -= 1;
  EXPECT_EQ(parse_envelope(kRequest, limits).error().code, Code::kParse);
  limits = {.values = 10};  // The envelope, eight members, and one in p.
  EXPECT_TRUE(parse_envelope(kRequest, limits).has_value());
  limits.values = 9;
  EXPECT_EQ(parse_envelope(kRequest, limits).error().code, Code::kParse);
}

TEST(EnvelopeTest, origin_tells_what_can_be_told) {
  auto origin = origin_of(with(R"("node-b")", "7"));
  EXPECT_EQ(origin.id.text(), "01J00000000000000000000000");
  EXPECT_EQ(origin.op, "tool.invoke");
  for (const auto& text :
       {std::string("{"), std::string("[]"), with("01J", "91J"), with("tool.invoke", "?")}) {
    EXPECT_FALSE(origin_of(text).id.known()) << text;
    EXPECT_EQ(origin_of(text).op, "") << text;
  }
}

TEST(EnvelopeTest, a_payload_without_canonical_form_is_not_written) {
  auto envelope = *parse_envelope(kRequest);
  envelope.payload["n"] = kMaxInteger + 1;
  EXPECT_FALSE(write_envelope(envelope).has_value());
  EXPECT_FALSE(write_unsigned(envelope).has_value());
  envelope.payload["n"] = kMaxInteger;
  EXPECT_TRUE(write_envelope(envelope).has_value());
}

class CountingRandom final : public base::Random {
 public:
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(next_++);
  }

 private:
  unsigned char next_ = 0;
};

TEST(UlidTest, sorts_by_time_and_reads_back) {
  CountingRandom random;
  base::WallTime now{std::chrono::milliseconds(1795251600123)};
  auto first = Ulid::make(now, random);
  auto later = Ulid::make(now + std::chrono::milliseconds(1), random);
  EXPECT_LT(first.text(), later.text());
  EXPECT_EQ(*Ulid::parse(first.text()), first);
  EXPECT_EQ(first.text(), "01M7YNAYQV000G40R40M30E209");
  EXPECT_FALSE(Ulid().known());
  EXPECT_EQ(*Ulid::parse("00000000000000000000000000"), Ulid());
}

}  // namespace
}  // namespace tool
