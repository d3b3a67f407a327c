#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <fstream>

#include "base/http/client.h"
#include "base/testing/child_process.h"
#include "base/testing/scripted_server.h"

namespace base::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto kToTuple = asio::as_tuple(asio::use_awaitable);

struct Freed {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Key = std::unique_ptr<EVP_PKEY, Freed>;
using Certificate = std::unique_ptr<X509, Freed>;

void add_extension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// A certificate of its own, which is its own root: valid from an hour ago,
// for `seconds` from now.
Certificate self_signed(EVP_PKEY* key, const std::string& names, long seconds) {
  Certificate out(X509_new());
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), seconds);
  X509_set_pubkey(out.get(), key);
  X509_NAME* name = X509_get_subject_name(out.get());
  std::array<unsigned char, 5> text{'l', 'o', 'c', 'a', 'l'};
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text.data(), text.size(), -1, 0);
  X509_set_issuer_name(out.get(), name);
  add_extension(out.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(out.get(), NID_subject_alt_name, names);
  X509_sign(out.get(), key, EVP_sha256());
  return out;
}

struct ServerCase {
  std::string names = "IP:127.0.0.1,DNS:localhost";
  long valid_seconds = 3600;
  int highest_version = TLS1_3_VERSION;
  std::string answer = testing::http_ok("encrypted");
};

class TlsServer {
 public:
  TlsServer(asio::io_context& loop, const ServerCase& c)
      : context_(asio::ssl::context::tls_server),
        acceptor_(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
    Certificate certificate = self_signed(key.get(), c.names, c.valid_seconds);
    SSL_CTX_use_certificate(context_.native_handle(), certificate.get());
    SSL_CTX_use_PrivateKey(context_.native_handle(), key.get());
    SSL_CTX_set_max_proto_version(context_.native_handle(), c.highest_version);
    SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_VERSION);
    SSL_CTX_set_security_level(context_.native_handle(), 0);
    std::FILE* file = std::fopen(root_file().c_str(), "w");
    PEM_write_X509(file, certificate.get());
    std::fclose(file);
    asio::co_spawn(loop, serve(c.answer), asio::detached);
  }
  [[nodiscard]] std::string root_file() const { return folder_.path() + "/root.pem"; }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void close() { acceptor_.close(); }
  int connections = 0;

 private:
  // One connection after another, each for two requests and then cut off.
  Task<void> serve(std::string answer) {
    while (true) {
      auto [error, socket] = co_await acceptor_.async_accept(kToTuple);
      if (error) co_return;
      ++connections;
      asio::ssl::stream<tcp::socket> stream(std::move(socket), context_);
      auto [failed] = co_await stream.async_handshake(asio::ssl::stream_base::server, kToTuple);
      for (int i = 0; !failed && i < 2; ++i) {
        std::array<char, 4096> request;
        auto [ended, size] = co_await stream.async_read_some(asio::buffer(request), kToTuple);
        if (ended) break;
        co_await asio::async_write(stream, asio::buffer(answer), kToTuple);
        if (!answer.contains("Content-Length")) break;
      }
    }
  }

  testing::TemporaryFolder folder_;
  asio::ssl::context context_;
  tcp::acceptor acceptor_;
};

struct ClientTlsTest : ::testing::Test {
  Result<Response> get(Client& client) {
    auto future = asio::co_spawn(
        loop,
        client.send({.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5)},
                    {.target = "/"}),
        asio::use_future);
    while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      if (loop.stopped()) loop.restart();
      loop.run_one();
    }
    return future.get();
  }
  std::unique_ptr<Client> connect_to(const TlsServer& server, std::string host) {
    return Client::create({.host = std::move(host), .port = server.port(), .encrypted = true},
                          {.ca_file = server.root_file()});
  }
  asio::io_context loop{1};
};

ErrorKind kind_of(const Result<Response>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorKind::kInternal : result.error().kind();
}

TEST_F(ClientTlsTest, keeps_an_encrypted_connection) {
  TlsServer server(loop, {});
  auto client = connect_to(server, "127.0.0.1");
  for (int i = 0; i < 2; ++i) {
    auto answer = get(*client);
    ASSERT_TRUE(answer) << answer.error().detail();
    EXPECT_EQ(answer->body.view(), "encrypted");
  }
  EXPECT_EQ(server.connections, 1);
}

TEST_F(ClientTlsTest, verifies_the_name_it_connects_to) {
  struct Case {
    const char* names;
    const char* host;
    bool trusted;
  };
  for (const Case& c : std::vector<Case>{{"IP:127.0.0.1", "127.0.0.1", true},
                                         {"DNS:localhost", "localhost", true},
                                         {"IP:127.0.0.2", "127.0.0.1", false},
                                         {"DNS:127.0.0.1", "127.0.0.1", false},
                                         {"DNS:other", "localhost", false},
                                         {"DNS:localhost.other", "localhost", false},
                                         {"IP:127.0.0.1", "localhost", false}}) {
    TlsServer server(loop, {.names = c.names});
    auto answer = get(*connect_to(server, c.host));
    EXPECT_EQ(answer.has_value(), c.trusted) << c.names << " as " << c.host;
    if (!c.trusted) {
      EXPECT_EQ(kind_of(answer), ErrorKind::kUnavailable) << c.names << " as " << c.host;
    }
  }
}

TEST_F(ClientTlsTest, refuses_what_it_cannot_trust) {
  TlsServer trusted(loop, {});
  TlsServer other(loop, {});
  TlsServer expired(loop, {.valid_seconds = -60});
  TlsServer old(loop, {.highest_version = TLS1_1_VERSION});
  EXPECT_TRUE(get(*connect_to(trusted, "127.0.0.1")));
  EXPECT_EQ(kind_of(get(*connect_to(expired, "127.0.0.1"))), ErrorKind::kUnavailable);
  EXPECT_EQ(kind_of(get(*connect_to(old, "127.0.0.1"))), ErrorKind::kUnavailable);
  Origin origin{.host = "127.0.0.1", .port = other.port(), .encrypted = true};
  auto wrong_root = Client::create(origin, {.ca_file = trusted.root_file()});
  EXPECT_EQ(kind_of(get(*wrong_root)), ErrorKind::kUnavailable);
  auto system_roots = Client::create(origin, {});
  EXPECT_EQ(kind_of(get(*system_roots)), ErrorKind::kUnavailable);
}

TEST_F(ClientTlsTest, does_not_speak_to_a_server_without_tls) {
  testing::ScriptedServer plain(
      loop, {{{.answer = testing::http_ok("x"), .when = testing::Act::kAtOnce}}});
  auto client = Client::create({.host = "127.0.0.1", .port = plain.port(), .encrypted = true}, {});
  EXPECT_EQ(kind_of(get(*client)), ErrorKind::kUnavailable);
  EXPECT_TRUE(plain.requests().empty());
}

TEST_F(ClientTlsTest, a_cut_off_answer_is_not_taken_for_a_whole_one) {
  TlsServer server(loop, {.answer = "HTTP/1.1 200 OK\r\n\r\nto the end, or so it se"});
  EXPECT_EQ(kind_of(get(*connect_to(server, "127.0.0.1"))), ErrorKind::kOutcomeUnknown);
}

TEST_F(ClientTlsTest, unreadable_roots_fail_each_request) {
  auto client =
      Client::create({.host = "127.0.0.1", .port = 1, .encrypted = true}, {.ca_file = "/nowhere"});
  EXPECT_EQ(kind_of(get(*client)), ErrorKind::kInvalid);
}

}  // namespace
}  // namespace base::http
