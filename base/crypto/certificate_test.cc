#include "base/crypto/certificate.h"

#include <gtest/gtest.h>

#include "base/crypto/encoding.h"

namespace base::crypto {
namespace {

// Made with: openssl req -x509 -newkey ed25519 -nodes -subj /CN=t -days 36500
// and hashed with: openssl x509 -fingerprint -sha256
constexpr std::string_view kCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBLjCB4aADAgECAhQwZnYRF12YtvPYhMtDuMlQeP21ZjAFBgMrZXAwDDEKMAgG
A1UEAwwBdDAgFw0yNjExMjExNDQ4MTFaGA8yMTI2MTAyODE0NDgxMVowDDEKMAgG
A1UEAwwBdDAqMAUGAytlcAMhAGR13rNYd5WfijCtFIB101O0n3UKXJ1duQuj58qJ
HiCIo1MwUTAdBgNVHQ4EFgQUR3tHKzQ310xgD5wN9N2LBPos0uIwHwYDVR0jBBgw
FoAUR3tHKzQ310xgD5wN9N2LBPos0uIwDwYDVR0TAQH/BAUwAwEB/zAFBgMrZXAD
QQDAL7b9Orr3uxW06WALiDMdO8OONqpsmjcGEle51d7Gf0zVfc9+FPDJRatHSWJE
3u9/4C/LcsUpeNmyfPLZUWIO
-----END CERTIFICATE-----
)";
constexpr std::string_view kHash =
    "de5915b53b8d247ede522f5f61ca9c5cf09c45b537bcf1c74b6b40cfbddaecc3";

TEST(CertificateTest, hashes_the_bytes_of_the_certificate) {
  auto hash = certificate_hash(kCertificate);
  ASSERT_TRUE(hash);
  EXPECT_EQ(to_hex(view(*hash)), kHash);
}

TEST(CertificateTest, refuses_what_is_none) {
  for (std::string_view text :
       {"", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}) {
    auto hash = certificate_hash(text);
    ASSERT_FALSE(hash);
    EXPECT_EQ(hash.error().kind(), ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace base::crypto
