#include "lakeproxy/storage/sigv4.h"

#include <gtest/gtest.h>

#include "base/core/text.h"

namespace lake::storage {
namespace {

using base::http::Headers;
using base::http::Method;

// The keys, times and signatures that the documents print.
Credentials documented_s3() {
  return {.access_key = "AKIAIOSFODNN7EXAMPLE",
          .secret_key = base::Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")};
}

base::WallTime time_of(std::chrono::sys_days day, std::chrono::seconds of_day = {}) {
  return base::WallTime(day) + of_day;
}

constexpr std::chrono::sys_days kDocumentedDay = std::chrono::year{2013} / std::chrono::May / 24;

std::string signature_in(const Headers& headers) {
  auto text = std::string(headers.get("Authorization").value_or(""));
  auto at = text.find("Signature=");
  return at == std::string::npos ? text : text.substr(at + 10);
}

SignableRequest documented_get() {
  return {.host = "examplebucket.s3.amazonaws.com",
          .path = "/",
          .payload_hash = base::to_hex(sha256(""))};
}

// Source: Amazon S3 API Reference, "Authenticating Requests: Using the
// Authorization Header", "Examples: Signature Calculations".
TEST(Sigv4Test, signs_the_documented_get_object) {
  SignableRequest request = documented_get();
  request.path = "/test.txt";
  request.headers.add("Range", "bytes=0-9");
  Headers headers = Signer(documented_s3(), "us-east-1").sign(request, time_of(kDocumentedDay));
  EXPECT_EQ(headers.get("Authorization"),
            "AWS4-HMAC-SHA256 "
            "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(headers.get("x-amz-date"), "20130524T000000Z");
}

TEST(Sigv4Test, signs_the_documented_put_object) {
  SignableRequest request = documented_get();
  request.method = Method::kPut;
  request.path = "/test$file.text";
  request.headers.add("Date", "Fri, 24 May 2013 00:00:00 GMT");
  request.headers.add("x-amz-storage-class", "REDUCED_REDUNDANCY");
  request.payload_hash = base::to_hex(sha256("Welcome to Amazon S3."));
  EXPECT_EQ(
      signature_in(Signer(documented_s3(), "us-east-1").sign(request, time_of(kDocumentedDay))),
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(Sigv4Test, signs_the_documented_queries) {
  SignableRequest lifecycle = documented_get();
  lifecycle.query = {{"lifecycle", ""}};
  SignableRequest list = documented_get();
  list.query = {{"prefix", "J"}, {"max-keys", "2"}};
  Signer signer(documented_s3(), "us-east-1");
  EXPECT_EQ(signature_in(signer.sign(lifecycle, time_of(kDocumentedDay))),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature_in(signer.sign(list, time_of(kDocumentedDay))),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Sigv4Test, key_of_a_day_is_not_used_on_another) {
  Signer kept(documented_s3(), "us-east-1");
  for (int day = 0; day < 3; ++day) {
    auto now = time_of(kDocumentedDay + std::chrono::days(day), std::chrono::seconds(86'399));
    EXPECT_EQ(signature_in(kept.sign(documented_get(), now)),
              signature_in(Signer(documented_s3(), "us-east-1").sign(documented_get(), now)));
  }
}

TEST(Sigv4Test, every_part_of_a_request_changes_its_signature) {
  Signer signer(documented_s3(), "us-east-1");
  auto now = time_of(kDocumentedDay);
  std::vector<SignableRequest> others(6, documented_get());
  others[0].method = Method::kHead;
  others[1].host = "other.s3.amazonaws.com";
  others[2].path = "/a";
  others[3].query = {{"a", ""}};
  others[4].headers.add("x-amz-meta-a", "1");
  others[5].payload_hash = base::to_hex(sha256("x"));
  std::vector<std::string> seen{signature_in(signer.sign(documented_get(), now))};
  for (const auto& other : others) {
    std::string signature = signature_in(signer.sign(other, now));
    EXPECT_EQ(std::ranges::find(seen, signature), seen.end());
    seen.push_back(signature);
  }
}

TEST(Sigv4Test, sends_and_signs_the_session_token) {
  Credentials temporary = documented_s3();
  temporary.session_token = base::Secret("token/+=");
  Headers headers = Signer(temporary, "us-east-1").sign(documented_get(), time_of(kDocumentedDay));
  EXPECT_EQ(headers.get("x-amz-security-token"), "token/+=");
  EXPECT_NE(headers.get("Authorization")->find("x-amz-date;x-amz-security-token,"),
            std::string_view::npos);
}

TEST(Sigv4Test, header_values_are_signed_without_needless_spaces) {
  Signer signer(documented_s3(), "us-east-1");
  SignableRequest loose = documented_get();
  loose.headers.add("X-Amz-Meta-A", "  a   b ");
  SignableRequest tight = documented_get();
  tight.headers.add("x-amz-meta-a", "a b");
  EXPECT_EQ(signature_in(signer.sign(loose, time_of(kDocumentedDay))),
            signature_in(signer.sign(tight, time_of(kDocumentedDay))));
}

TEST(CanonicalPathTest, encodes_each_byte_once) {
  EXPECT_EQ(canonical_path("/"), "/");
  EXPECT_EQ(canonical_path("/a b+c=d%20e/\xc3\xa4~*('"), "/a%20b%2Bc%3Dd%2520e/%C3%A4~%2A%28%27");
}

TEST(CanonicalQueryTest, sorts_after_encoding) {
  EXPECT_EQ(canonical_query({}), "");
  EXPECT_EQ(canonical_query({{"b", "2"}, {"a", "2"}, {"a", "1"}, {"A", ""}}), "A=&a=1&a=2&b=2");
  // '~' stays and sorts after the '%' that an umlaut is encoded with.
  EXPECT_EQ(canonical_query({{"~", "/"}, {"\xc3\xa4", "="}}), "%C3%A4=%3D&~=%2F");
  EXPECT_EQ(canonical_query({{"a-b", "1"}, {"a", "2"}}), "a=2&a-b=1");
}

TEST(Sha256Test, gives_the_standard_digests) {
  EXPECT_EQ(base::to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // Source: RFC 4231, section 4.3.
  EXPECT_EQ(base::to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace lake::storage
