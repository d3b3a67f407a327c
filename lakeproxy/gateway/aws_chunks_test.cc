#include "lakeproxy/gateway/aws_chunks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lakeproxy/gateway/s3_error.h"
#include "lakeproxy/storage/sigv4_parts.h"

namespace lake::gateway {
namespace {

struct Outcome {
  std::string text;
  std::string verdict;  ///< "done", "more", or the code of the refusal.
};

// Fed in pieces, and taken into a buffer that is smaller than they are.
Outcome read(ChunkRules rules, std::string_view coded, std::size_t step) {
  auto reader = ChunkReader::make(std::move(rules));
  if (!reader) return {"", std::string(reader.error().reason())};
  Outcome outcome;
  std::string out(step / 2 + 1, '\0');
  while (!coded.empty()) {
    std::string_view piece = coded.substr(0, step);
    coded.remove_prefix(piece.size());
    while (!piece.empty()) {
      auto progress = reader->feed(piece, out);
      if (!progress) {
        outcome.verdict = progress.error().reason();
        return outcome;
      }
      outcome.text.append(out, 0, progress->given);
      piece.remove_prefix(progress->used);
    }
  }
  outcome.verdict = reader->is_done() ? "done" : "more";
  return outcome;
}

// Source: Amazon S3 API Reference, "Transferring Payload in Multiple Chunks", the examples.
ChunkRules example(std::string signature, std::string trailer = "") {
  ChunkRules rules{.form = {.is_signed = true, .has_trailer = !trailer.empty()},
                   .length = 66560,
                   .trailer = std::move(trailer),
                   .seed = {}};
  rules.seed.signing_key = storage::signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                                "20130524", "us-east-1", "s3");
  rules.seed.time = "20130524T000000Z";
  rules.seed.scope = "20130524/us-east-1/s3/aws4_request";
  rules.seed.signature = std::move(signature);
  return rules;
}

std::string chunk(std::size_t size, std::string_view signature) {
  return fmt::format("{:x};chunk-signature={}\r\n{}{}", size, signature, std::string(size, 'a'),
                     size > 0 ? "\r\n" : "");
}

const std::string kSeed = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
std::string signed_body() {
  return chunk(65536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648") +
         chunk(1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497") +
         chunk(0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9") + "\r\n";
}

TEST(AwsChunks, takes_the_signed_example_however_it_is_cut) {
  for (std::size_t step : {1U, 7U, 1000U, 70'000U, 1'000'000U}) {
    Outcome outcome = read(example(kSeed), signed_body(), step);
    EXPECT_EQ(outcome.verdict, "done");
    EXPECT_TRUE(outcome.text == std::string(66560, 'a'));
  }
}

const std::string kTrailerSeed = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e";
std::string body_with_trailer() {
  return chunk(65536, "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2") +
         chunk(1024, "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7") +
         chunk(0, "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992") +
         "x-amz-checksum-crc32c:sOO8/Q==\r\n"
         "x-amz-trailer-signature:"
         "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n";
}

TEST(AwsChunks, takes_the_signed_example_with_a_trailer) {
  for (std::size_t step : {1U, 1'000'000U}) {
    Outcome outcome =
        read(example(kTrailerSeed, "x-amz-checksum-crc32c"), body_with_trailer(), step);
    EXPECT_EQ(outcome.verdict, "done");
    EXPECT_EQ(outcome.text.size(), 66560);
  }
}

TEST(AwsChunks, refuses_each_change_of_a_signed_body) {
  auto verdict = [](std::string body, std::string_view from, std::string_view to) {
    const std::size_t place = body.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    body.replace(place, from.size(), to);
    return read(example(kSeed), body, 1000).verdict;
  };
  EXPECT_EQ(verdict(signed_body(), "aaaa", "aaab"), "SignatureDoesNotMatch");
  EXPECT_EQ(verdict(signed_body(), "=ad80", "=ad81"), "SignatureDoesNotMatch");
  EXPECT_EQ(verdict(signed_body(), "=b6c6", "=b6c7"), "SignatureDoesNotMatch");
  EXPECT_EQ(verdict(signed_body(), "10000;", "0ffff;"), "InvalidRequest");
  EXPECT_EQ(verdict(signed_body(), ";chunk-signature=ad80", ";chunk-signature="), "InvalidRequest");
  EXPECT_EQ(read(example(std::string(64, '0')), signed_body(), 1000).verdict,
            "SignatureDoesNotMatch");
  // A chunk that is left out, and one that comes twice.
  const std::string second =
      chunk(1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497");
  EXPECT_EQ(verdict(signed_body(), second, ""), "IncompleteBody");
  ChunkRules shorter = example(kSeed);
  shorter.length = 65536;
  std::string without = signed_body();
  without.erase(without.find(second), second.size());
  EXPECT_EQ(read(shorter, without, 1000).verdict, "SignatureDoesNotMatch");
  EXPECT_EQ(verdict(signed_body(), second, second + second), "IncompleteBody");
  std::string other = body_with_trailer();
  other.replace(other.find("sOO8"), 4, "sOO9");
  EXPECT_EQ(read(example(kTrailerSeed, "x-amz-checksum-crc32c"), other, 1000).verdict,
            "SignatureDoesNotMatch");
}

ChunkRules unsigned_rules(std::string field, std::uint64_t length = 9) {
  return {.form = {.is_signed = false, .has_trailer = true},
          .length = length,
          .trailer = std::move(field),
          .seed = {}};
}

std::string unsigned_body(std::string_view trailer) {
  return fmt::format("5\r\n12345\r\n4\r\n6789\r\n0\r\n{}\r\n\r\n", trailer);
}

// The check values of the catalogue of CRCs, for "123456789"; SHA by another program.
TEST(AwsChunks, checks_each_kind_of_checksum) {
  const std::pair<const char*, const char*> known[] = {
      {"x-amz-checksum-crc32", "y/Q5Jg=="},
      {"x-amz-checksum-crc32c", "4waSgw=="},
      {"x-amz-checksum-crc64nvme", "rosUhgp5mIg="},
      {"x-amz-checksum-sha1", "98O8HYCOBHMq32eZZczDTKeuNEE="},
      {"x-amz-checksum-sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="}};
  for (const auto& [field, value] : known) {
    auto verdict = [&](std::string_view text) {
      return read(unsigned_rules(field), unsigned_body(fmt::format("{}:{}", field, text)), 3)
          .verdict;
    };
    EXPECT_EQ(verdict(value), "done") << field;
    std::string other(value);
    other.front() = 'A';
    EXPECT_EQ(verdict(other), "BadDigest") << field;
  }
}

TEST(AwsChunks, refuses_what_was_not_announced) {
  const std::string good = "x-amz-checksum-crc32:y/Q5Jg==";
  auto verdict = [](ChunkRules rules, std::string_view body) {
    return read(std::move(rules), body, 1000).verdict;
  };
  const std::string crc32 = "x-amz-checksum-crc32";
  EXPECT_EQ(verdict(unsigned_rules(crc32), unsigned_body(good)), "done");
  EXPECT_EQ(verdict(unsigned_rules(crc32, 8), unsigned_body(good)), "IncompleteBody");
  EXPECT_EQ(verdict(unsigned_rules(crc32, 10), unsigned_body(good)), "IncompleteBody");
  EXPECT_EQ(verdict(unsigned_rules(crc32), unsigned_body(good) + "0\r\n"), "IncompleteBody");
  EXPECT_EQ(verdict(unsigned_rules(crc32), unsigned_body("x-amz-meta-a:b")), "InvalidRequest");
  EXPECT_EQ(verdict(unsigned_rules(crc32), "5\r\n12345\r\n4\r\n6789\r\n0\r\n\r\n"),
            "InvalidRequest");
  EXPECT_EQ(verdict(unsigned_rules("x-amz-meta-a"), ""), "InvalidRequest");
  EXPECT_EQ(verdict(unsigned_rules(""), ""), "InvalidRequest");
  for (const char* body : {"g\r\n", "5;a=b\r\n12345\r\n", "5\n12345\r\n", "5\r\n123456\r\n",
                           "ffffffffffffffff\r\n", "-5\r\n", "\r\n", " 5\r\n"}) {
    EXPECT_NE(verdict(unsigned_rules(crc32), body), "done") << body;
    EXPECT_NE(verdict(unsigned_rules(crc32), body), "more") << body;
  }
  EXPECT_EQ(verdict(unsigned_rules(crc32), std::string(600, '0')), "InvalidRequest");
  EXPECT_EQ(verdict(unsigned_rules(crc32), "5\r\n1234"), "more");
}

TEST(AwsChunks, knows_the_forms_by_their_names) {
  EXPECT_FALSE(chunk_form("UNSIGNED-PAYLOAD")->has_value());
  EXPECT_FALSE(chunk_form(std::string(64, 'a'))->has_value());
  EXPECT_TRUE((*chunk_form("STREAMING-AWS4-HMAC-SHA256-PAYLOAD"))->is_signed);
  EXPECT_TRUE((*chunk_form("STREAMING-UNSIGNED-PAYLOAD-TRAILER"))->has_trailer);
  for (const char* other : {"", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "unsigned-payload"}) {
    EXPECT_FALSE(chunk_form(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace lake::gateway
