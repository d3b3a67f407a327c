#pragma once

// An authority and certificates it signed, in files that go with this object.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/http/server.h"

namespace base::ws::testing {

class Authority {
 public:
  struct Pair {
    std::string certificate;  ///< PEM file.
    std::string key;
  };

  Authority() {
    std::string pattern = ::testing::TempDir() + "wstlsXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    key_ = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    certificate_ = make("authority", key_, "", nullptr);
    save(ca_file(), [&](FILE* file) { PEM_write_X509(file, certificate_); });
  }
  ~Authority() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
    std::filesystem::remove_all(folder_);
  }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  [[nodiscard]] std::string ca_file() const { return folder_ + "/ca.pem"; }

  /// A certificate for `name`, valid for the alternative names given, e.g.
  /// "IP:127.0.0.1".
  Pair issue(const std::string& name, const std::string& alternative_names) {
    EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    X509* certificate = make(name, key, alternative_names, certificate_);
    Pair pair{folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key"};
    save(pair.certificate, [&](FILE* file) { PEM_write_X509(file, certificate); });
    save(pair.key, [&](FILE* file) {
      PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    X509_free(certificate);
    EVP_PKEY_free(key);
    return pair;
  }

 private:
  template <class Write>
  static void save(const std::string& path, Write write) {
    FILE* file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    write(file);
    std::fclose(file);
  }

  static void extend(X509* certificate, X509* issuer, int id, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
    ASSERT_NE(extension, nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  // Signed by itself when there is no issuer.
  X509* make(const std::string& name, EVP_PKEY* key, const std::string& names, X509* issuer) {
    X509* certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, text, -1,
                               -1, 0);
    X509* signer = issuer ? issuer : certificate;
    X509_set_issuer_name(certificate, X509_get_subject_name(signer));
    extend(certificate, signer, NID_basic_constraints,
           issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (!names.empty()) extend(certificate, signer, NID_subject_alt_name, names);
    X509_sign(certificate, key_, EVP_sha256());
    return certificate;
  }

  std::string folder_;
  EVP_PKEY* key_;
  X509* certificate_;
  long serial_ = 0;
};

}  // namespace base::ws::testing
