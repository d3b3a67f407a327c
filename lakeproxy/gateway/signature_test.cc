#include "lakeproxy/gateway/signature.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "lakeproxy/gateway/s3_error.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::gateway {
namespace {

using base::http::Method;
using base::http::Request;

const base::Secret kSecret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
constexpr std::string_view kRegion = "us-east-1";

base::WallTime at(int minutes = 0) {
  using namespace std::chrono;
  return sys_days(year(2013) / May / 24) + std::chrono::minutes(minutes);
}

// Source: Amazon S3 API Reference, "Example: GET Object".
Request example() {
  Request request{
      .method = Method::kGet, .target = "/test.txt", .headers = {}, .body = {}, .peer = {}};
  request.headers.add("Host", "examplebucket.s3.amazonaws.com");
  request.headers.add("Range", "bytes=0-9");
  request.headers.add("x-amz-content-sha256",
                      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  request.headers.add("x-amz-date", "20130524T000000Z");
  request.headers.add(
      "Authorization",
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
      "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  return request;
}

// The code of the refusal, or "ok".
std::string verdict(const Request& request, base::WallTime now = at(),
                    const base::Secret& secret = kSecret, std::string_view region = kRegion) {
  auto shown = read_authorization(request.headers);
  if (!shown) return std::string(shown.error().reason());
  auto verified = verify_signature(*shown, request, secret, region, now);
  return verified ? "ok" : std::string(verified.error().reason());
}

TEST(Signature, takes_the_example_of_the_specification) {
  EXPECT_EQ(verdict(example()), "ok");
  auto shown = read_authorization(example().headers);
  ASSERT_FALSE(!shown);
}

TEST(Signature, refuses_another_secret_and_each_changed_part) {
  EXPECT_EQ(verdict(example(), at(), base::Secret("other")), "SignatureDoesNotMatch");
  std::map<std::string, void (*)(Request&)> changes = {
      {"method", [](Request& r) { r.method = Method::kDelete; }},
      {"path", [](Request& r) { r.target = "/test.txu"; }},
      {"query", [](Request& r) { r.target = "/test.txt?versionId=1"; }},
      {"signed field", [](Request& r) { r.headers.set("Range", "bytes=0-10"); }},
      {"second value", [](Request& r) { r.headers.add("Range", "bytes=0-9"); }},
      {"host", [](Request& r) { r.headers.set("Host", "other.s3.amazonaws.com"); }},
      {"hash", [](Request& r) { r.headers.set("x-amz-content-sha256", "UNSIGNED-PAYLOAD"); }},
      {"time", [](Request& r) { r.headers.set("x-amz-date", "20130524T000001Z"); }}};
  for (const auto& [name, change] : changes) {
    Request request = example();
    change(request);
    EXPECT_EQ(verdict(request), "SignatureDoesNotMatch") << name;
  }
}

TEST(Signature, refuses_times_beyond_the_skew) {
  EXPECT_EQ(verdict(example(), at(15)), "ok");
  EXPECT_EQ(verdict(example(), at(-15)), "ok");
  EXPECT_EQ(verdict(example(), at(15) + std::chrono::seconds(1)), "RequestTimeTooSkewed");
  EXPECT_EQ(verdict(example(), at(-15) - std::chrono::seconds(1)), "RequestTimeTooSkewed");
  for (const char* time : {"20130523T235959Z", "2013-05-24", "20130524T000000", "20130524T006000Z",
                           "20131324T000000Z", "20130524T240000Z", ""}) {
    Request request = example();
    request.headers.set("x-amz-date", time);
    EXPECT_EQ(verdict(request), "AuthorizationHeaderMalformed") << time;
  }
}

// What no signature covers might be anybody's.
TEST(Signature, refuses_fields_of_the_store_that_are_not_signed) {
  for (const char* name : {"x-amz-copy-source", "X-Amz-Meta-A", "x-amz-security-token"}) {
    Request request = example();
    request.headers.add(name, "a");
    EXPECT_EQ(verdict(request), "AuthorizationHeaderMalformed") << name;
  }
  Request harmless = example();
  harmless.headers.add("User-Agent", "a");
  EXPECT_EQ(verdict(harmless), "ok");
}

TEST(Signature, refuses_what_it_cannot_read_in_one_way) {
  const std::string whole(*example().headers.get("Authorization"));
  auto with = [&](std::string text) {
    Request request = example();
    request.headers.set("Authorization", text);
    return verdict(request);
  };
  auto replaced = [&](std::string_view from, std::string_view to) {
    std::string text = whole;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(with(whole), "ok");
  EXPECT_EQ(with(replaced("HMAC-SHA256", "ECDSA-P256-SHA256")), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with("Bearer abc"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(""), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(whole + ",Signature=00"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(whole + ",Other=1"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(replaced("/s3/", "/sts/")), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(replaced("us-east-1", "eu-west-1")), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(replaced("SignedHeaders=host;", "SignedHeaders=")),
            "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(replaced("host;range", "range;host")), "SignatureDoesNotMatch");
  EXPECT_EQ(with(replaced("host;range", "host;host;range")), "SignatureDoesNotMatch");
  EXPECT_EQ(with(replaced("Signature=f0", "Signature=F0")), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(whole + std::string(5000, 'a')), "AuthorizationHeaderMalformed");
  Request none = example();
  Request twice = example();
  twice.headers.add("authorization", whole);
  EXPECT_EQ(verdict(twice), "AuthorizationHeaderMalformed");
  Request unsigned_one{
      .method = Method::kGet, .target = "/", .headers = {}, .body = {}, .peer = {}};
  unsigned_one.headers.add("Host", "h");
  EXPECT_EQ(verdict(unsigned_one), "AccessDenied");
}

// What Signer signs is taken, whatever stands in names and values.
TEST(Signature, takes_what_the_signer_signs) {
  storage::Signer signer({"KEY", kSecret, base::Secret("token")}, std::string(kRegion));
  storage::SignableRequest signable{.method = Method::kPut,
                                    .host = "127.0.0.1:9000",
                                    .path = "/bucket/a b/ü=1+2/%41~*",
                                    .query = {{"uploadId", "a+/="}, {"partNumber", "1"}},
                                    .headers = {},
                                    .payload_hash = "UNSIGNED-PAYLOAD"};
  signable.headers.add("x-amz-meta-a", "  two   spaces ");
  Request request{.method = Method::kPut,
                  .target = storage::canonical_path(signable.path) + "?" +
                            storage::canonical_query(signable.query),
                  .headers = signer.sign(signable, at()),
                  .body = {},
                  .peer = {}};
  request.headers.add("Host", signable.host);
  EXPECT_EQ(verdict(request), "ok");
  request.target += "&x=1";
  EXPECT_EQ(verdict(request), "SignatureDoesNotMatch");
}

}  // namespace
}  // namespace lake::gateway
