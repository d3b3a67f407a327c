#include "base/http/server_tls.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/http/server_fixture_test.h"

namespace base::http {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.

// A key and a certificate it signed itself, in files that go with this object.
class Certificate {
 public:
  Certificate() {
    std::string pattern = ::testing::TempDir() + "tlsXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    const unsigned char common_name[] = "localhost";
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_sign(certificate, key, EVP_sha256());
    write(chain_file(), [&](FILE* file) { PEM_write_X509(file, certificate); });
    write(key_file(), [&](FILE* file) {
      PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~Certificate() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string chain_file() const { return folder_ + "/chain.pem"; }
  [[nodiscard]] std::string key_file() const { return folder_ + "/key.pem"; }
  [[nodiscard]] TlsFiles files() const { return {chain_file(), key_file()}; }

 private:
  template <class Write>
  static void write(const std::string& path, Write write) {
    FILE* file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    write(file);
    std::fclose(file);
  }

  std::string folder_;
};

class TlsClient final : public RawClient {
 public:
  explicit TlsClient(std::uint16_t port, int version = TLS1_3_VERSION)
      : RawClient(port), context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes with no flag against it.
    SSL_set_min_proto_version(ssl_, version);
    SSL_set_max_proto_version(ssl_, version);
    SSL_set_security_level(ssl_, 0);  // Lets the client offer what the server must refuse.
    SSL_set_fd(ssl_, fd());
    connected_ = SSL_connect(ssl_) == 1;
  }
  ~TlsClient() override {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  [[nodiscard]] bool connected() const { return connected_; }

 private:
  ssize_t write_some(std::string_view bytes) override {
    return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
  }
  ssize_t read_some(char* into, std::size_t size) override {
    int n = SSL_read(ssl_, into, static_cast<int>(size));
    return n > 0 ? n : SSL_get_error(ssl_, n) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
  }

  SSL_CTX* context_;
  SSL* ssl_;
  bool connected_ = false;
};

std::unique_ptr<TlsFiles> files_of(const Certificate& certificate) {
  return std::make_unique<TlsFiles>(certificate.files());
}

TEST(ServerTlsTest, serves_tls_1_2_and_1_3_and_marks_the_request) {
  Certificate certificate;
  TestServer server(patient(), files_of(certificate));
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(server.port(), version);
    ASSERT_TRUE(client.connected());
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(client.ask(get("/a")).body, "GET /a tls 127.0.0.1 0");
    }
    client.send(get("/b") + get("/c"));
    EXPECT_EQ(client.read().body, "GET /b tls 127.0.0.1 0");
    EXPECT_EQ(client.read().body, "GET /c tls 127.0.0.1 0");
    EXPECT_EQ(client.ask(get("/large")).body.size(), 8u << 20);
    EXPECT_TRUE(client.ask(get("/pieces/large")).body == pieces_body(true).text());
  }
}

TEST(ServerTlsTest, refuses_tls_1_1) {
  Certificate certificate;
  TestServer server(patient(), files_of(certificate));
  TlsClient client(server.port(), TLS1_1_VERSION);
  EXPECT_FALSE(client.connected());
}

TEST(ServerTlsTest, refuses_tls_1_2_where_1_3_is_the_minimum) {
  Certificate certificate;
  auto files = files_of(certificate);
  files->minimum = TlsVersion::kTls13;
  TestServer server(patient(), std::move(files));
  TlsClient old(server.port(), TLS1_2_VERSION);
  EXPECT_FALSE(old.connected());
  TlsClient current(server.port(), TLS1_3_VERSION);
  EXPECT_EQ(current.ask(get("/a")).status, 200u);
}

TEST(ServerTlsTest, client_without_the_required_certificate_gets_no_answer) {
  Certificate certificate;
  for (auto clients : {ClientCertificates::kOptional, ClientCertificates::kRequired}) {
    auto files = files_of(certificate);
    files->clients = clients;
    files->client_ca = certificate.chain_file();
    TestServer server(patient(), std::move(files));
    for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      TlsClient client(server.port(), version);
      // With TLS 1.3 the client is done before the server has refused it.
      unsigned status = client.connected() ? client.ask(get("/a")).status : 0;
      EXPECT_EQ(status, clients == ClientCertificates::kOptional ? 200u : 0u) << version;
    }
  }
}

TEST(ServerTlsTest, asks_for_client_certificates_only_with_an_authority) {
  Certificate certificate;
  for (const char* authority : {"", "/nonexistent"}) {
    TlsFiles files = certificate.files();
    files.clients = ClientCertificates::kOptional;
    files.client_ca = authority;
    auto context = make_server_tls(files);
    ASSERT_FALSE(context.has_value());
    EXPECT_EQ(context.error().kind(), ErrorKind::kInvalid);
  }
}

TEST(ServerTlsTest, takes_large_bodies_and_ends_with_a_close_notify) {
  Certificate certificate;
  TestServer server(patient(), files_of(certificate));
  TlsClient client(server.port());
  std::string body(1 << 20, 'x');
  client.send(fmt::format(
      "PUT / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.size()));
  EXPECT_EQ(client.ask(body).body, fmt::format("PUT / tls 127.0.0.1 {}", body.size()));
  EXPECT_EQ(client.end(), End::kClosed);
}

TEST(ServerTlsTest, bounds_the_handshake_and_the_head) {
  Certificate certificate;
  ServerLimits limits = patient();
  limits.header_time = milliseconds(250);
  TestServer server(limits, files_of(certificate));
  RawClient silent(server.port());
  EXPECT_EQ(silent.end(), End::kClosed);
  TlsClient slow(server.port());
  ASSERT_TRUE(slow.connected());
  EXPECT_EQ(slow.ask("GET / HT").status, 408u);
  EXPECT_EQ(slow.end(), End::kClosed);
}

TEST(ServerTlsTest, drops_a_client_that_speaks_plain_http) {
  Certificate certificate;
  TestServer server(patient(), files_of(certificate));
  RawClient client(server.port());
  EXPECT_EQ(client.ask(get("/")).status, 0u);
  server.wait_for_connections(0);
  EXPECT_EQ(server.seen.requests, 0);
}

TEST(ServerTlsTest, connection_over_the_cap_is_closed_without_a_handshake) {
  Certificate certificate;
  ServerLimits limits = patient();
  limits.admission.connections = 1;
  TestServer server(limits, files_of(certificate));
  TlsClient first(server.port());
  EXPECT_EQ(first.ask(get("/")).status, 200u);
  TlsClient second(server.port());
  EXPECT_FALSE(second.connected());
}

TEST(ServerTlsTest, shutdown_finishes_what_is_in_flight) {
  Certificate certificate;
  TestServer server(patient(), files_of(certificate));
  TlsClient client(server.port());
  client.send(get("/hold"));
  server.wait_for_holding(1);
  TlsClient idle(server.port());
  RawClient silent(server.port());
  server.wait_for_connections(3);
  std::jthread stopping([&] { server.server().shutdown(milliseconds(20'000)); });
  EXPECT_EQ(idle.end(), End::kClosed);
  idle.close();
  EXPECT_NE(silent.end(), End::kStillOpen);
  server.seen.released = true;
  EXPECT_EQ(client.read().field("Connection"), "close");
  EXPECT_EQ(client.end(), End::kClosed);
  client.close();
}

TEST(ServerTlsTest, refuses_files_it_cannot_use) {
  Certificate certificate;
  Certificate other;
  for (const TlsFiles& files : {TlsFiles{"/nonexistent", certificate.key_file()},
                                TlsFiles{certificate.chain_file(), "/nonexistent"},
                                TlsFiles{certificate.key_file(), certificate.key_file()},
                                TlsFiles{certificate.chain_file(), other.key_file()}}) {
    auto context = make_server_tls(files);
    ASSERT_FALSE(context.has_value());
    EXPECT_EQ(context.error().kind(), ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace base::http
