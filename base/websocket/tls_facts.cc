#include "base/websocket/tls_facts.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <chrono>
#include <ctime>
#include <memory>

namespace base::ws {
namespace {

struct Free {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
};

std::string subject_of(X509* certificate) {
  std::unique_ptr<BIO, Free> out(BIO_new(BIO_s_mem()));
  if (!out) return "";
  // UTF-8 is kept as it is; control characters and delimiters are escaped.
  constexpr unsigned long kForm =
      XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB);
  if (X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, kForm) < 0) return "";
  char* text = nullptr;
  long size = BIO_get_mem_data(out.get(), &text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
}

// Base64url without padding of a digest. Source: RFC 4648, section 5.
std::string base64url(const unsigned char* bytes, unsigned size) {
  std::string out(4 * ((size + 2) / 3) + 1, '\0');
  auto* into = reinterpret_cast<unsigned char*>(out.data());
  out.resize(static_cast<std::size_t>(EVP_EncodeBlock(into, bytes, static_cast<int>(size))));
  while (out.ends_with('=')) out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

// Years of four digits, as certificates have them. Source: RFC 5280, section 4.1.2.5.
std::optional<WallTime> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  std::chrono::sys_days day =
      std::chrono::year_month_day(std::chrono::year(parts.tm_year + 1900),
                                  std::chrono::month(static_cast<unsigned>(parts.tm_mon) + 1),
                                  std::chrono::day(static_cast<unsigned>(parts.tm_mday)));
  return WallTime(day + std::chrono::hours(parts.tm_hour) + std::chrono::minutes(parts.tm_min) +
                  std::chrono::seconds(parts.tm_sec));
}

}  // namespace

std::optional<PeerCertificate> peer_certificate(ssl_st* tls) {
  if (tls == nullptr) return std::nullopt;
  std::unique_ptr<X509, Free> certificate(SSL_get1_peer_certificate(tls));
  if (!certificate || SSL_get_verify_result(tls) != X509_V_OK) return std::nullopt;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1) return std::nullopt;
  auto expires_at = time_of(X509_get0_notAfter(certificate.get()));
  if (!expires_at) return std::nullopt;
  return PeerCertificate{subject_of(certificate.get()), base64url(digest.data(), size),
                         *expires_at};
}

Result<std::string> own_certificate_hash(ssl_st* tls) {
  X509* certificate = SSL_get_certificate(tls);  // Stays the connection's.
  if (certificate == nullptr) return fail(ErrorKind::kUnsupported, "this end shows no certificate");
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) {
    return fail(ErrorKind::kInternal, "OpenSSL gave no digest of the certificate");
  }
  return std::string(reinterpret_cast<const char*>(digest.data()), size);
}

Result<std::string> tls_exporter(ssl_st* tls, std::string_view label, std::size_t length) {
  if (SSL_version(tls) != TLS1_3_VERSION) {
    return fail(ErrorKind::kUnsupported, "channel binding needs TLS 1.3");
  }
  std::string out(length, '\0');
  auto* into = reinterpret_cast<unsigned char*>(out.data());
  if (SSL_export_keying_material(tls, into, length, label.data(), label.size(), nullptr, 0, 0) !=
      1) {
    return fail(ErrorKind::kInternal, "TLS gave no keying material");
  }
  return out;
}

}  // namespace base::ws
