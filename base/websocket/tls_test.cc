#include <gtest/gtest.h>

#include <csignal>
#include <mutex>

#include "base/websocket/fixture_test.h"
#include "base/websocket/test_certificates_test.h"

namespace base::ws {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.

constexpr const char* kBinding = "EXPORTER-Channel-Binding";

std::unique_ptr<http::TlsFiles> server_files(
    const Authority::Pair& pair, http::ClientCertificates clients = http::ClientCertificates::kNone,
    std::string ca = "") {
  return std::make_unique<http::TlsFiles>(http::TlsFiles{.certificate_chain = pair.certificate,
                                                         .private_key = pair.key,
                                                         .minimum = http::TlsVersion::kTls13,
                                                         .clients = clients,
                                                         .client_ca = std::move(ca)});
}

// What both ends know of the connection.
struct Facts {
  std::string exporter;
  std::string other_label;
  std::optional<PeerCertificate> certificate;
  bool encrypted = false;
};

Facts facts_of(const Connection& connection) {
  return {.exporter = connection.tls_exporter(kBinding, 32).value_or(""),
          .other_label = connection.tls_exporter("EXPORTER-other", 32).value_or(""),
          .certificate = connection.peer_certificate(),
          .encrypted = connection.encrypted()};
}

// Tells the client what the server knows.
Task<void> tell(std::unique_ptr<Connection> connection) {
  Facts facts = facts_of(*connection);
  auto certificate = facts.certificate.value_or(PeerCertificate{"none", "none"});
  EXPECT_TRUE(facts.encrypted);
  EXPECT_TRUE(connection->send({Message::Kind::kBinary, facts.exporter}));
  EXPECT_TRUE(connection->send({Message::Kind::kText, certificate.subject}));
  EXPECT_TRUE(connection->send({Message::Kind::kText, certificate.thumbprint}));
  (void)co_await connection->receive();
}

struct Told {
  Facts own;
  std::string exporter;
  std::string subject;
  std::string thumbprint;
};

Task<Result<Told>> ask(ConnectOptions options) {
  CO_ASSIGN_OR_RETURN(auto connection, co_await connect({}, std::move(options)));
  Told told{.own = facts_of(*connection), .exporter = "", .subject = "", .thumbprint = ""};
  CO_ASSIGN_OR_RETURN(Message exporter, co_await connection->receive());
  CO_ASSIGN_OR_RETURN(Message subject, co_await connection->receive());
  CO_ASSIGN_OR_RETURN(Message thumbprint, co_await connection->receive());
  told.exporter = exporter.data;
  told.subject = subject.data;
  told.thumbprint = thumbprint.data;
  co_return told;
}

TEST(TlsTest, both_ends_derive_the_same_channel_binding) {
  Authority authority;
  auto pair = authority.issue("server", "IP:127.0.0.1");
  TestServer server({.tls = server_files(pair)}, tell);
  auto first = run(ask({.url = server.url("wss"), .ca_file = authority.ca_file()}));
  auto second = run(ask({.url = server.url("wss"), .ca_file = authority.ca_file()}));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->exporter.size(), 32u);
  EXPECT_EQ(first->exporter, first->own.exporter);
  EXPECT_EQ(second->exporter, second->own.exporter);
  EXPECT_NE(first->exporter, second->exporter);
  EXPECT_NE(first->exporter, first->own.other_label);
  EXPECT_EQ(first->subject, "none");
  ASSERT_TRUE(first->own.certificate.has_value());
  EXPECT_EQ(first->own.certificate->subject, "CN=server");
  EXPECT_EQ(first->own.certificate->thumbprint.size(), 43u);
}

TEST(TlsTest, server_learns_the_clients_certificate) {
  Authority authority;
  auto pair = authority.issue("server", "IP:127.0.0.1");
  auto client = authority.issue("client \xC3\xA9, of a test", "");
  for (auto clients : {http::ClientCertificates::kOptional, http::ClientCertificates::kRequired}) {
    TestServer server({.tls = server_files(pair, clients, authority.ca_file())}, tell);
    auto told = run(ask({.url = server.url("wss"),
                         .ca_file = authority.ca_file(),
                         .certificate_file = client.certificate,
                         .key_file = client.key}));
    ASSERT_TRUE(told.has_value()) << told.error().message() << told.error().detail();
    EXPECT_EQ(told->subject, "CN=client \xC3\xA9\\, of a test");
    EXPECT_EQ(told->thumbprint.size(), 43u);
  }
}

TEST(TlsTest, client_certificates_are_asked_for_as_set) {
  Authority authority;
  Authority stranger;
  auto pair = authority.issue("server", "IP:127.0.0.1");
  auto foreign = stranger.issue("client", "");
  using enum http::ClientCertificates;
  struct Case {
    const char* name;
    http::ClientCertificates clients;
    bool shows_foreign;
    bool connects;
  };
  for (auto [name, clients, shows_foreign, connects] :
       {Case{"not asked, shown in vain", kNone, true, true},
        Case{"optional, none shown", kOptional, false, true},
        Case{"optional, a stranger's shown", kOptional, true, false},
        Case{"required, none shown", kRequired, false, false},
        Case{"required, a stranger's shown", kRequired, true, false}}) {
    TestServer server({.tls = server_files(pair, clients, authority.ca_file())}, tell);
    ConnectOptions options{.url = server.url("wss"), .ca_file = authority.ca_file()};
    if (shows_foreign) {
      options.certificate_file = foreign.certificate;
      options.key_file = foreign.key;
    }
    auto told = run(ask(options));
    EXPECT_EQ(told.has_value(), connects) << name;
    if (told) {
      EXPECT_EQ(told->subject, "none") << name;
    } else {
      EXPECT_EQ(told.error().kind(), ErrorKind::kForbidden) << name;
      EXPECT_EQ(told.error().reason(), "tls") << name;
    }
  }
}

ErrorKind refusal_of(ConnectOptions options) {
  auto told = run(ask(std::move(options)));
  EXPECT_FALSE(told.has_value());
  return told ? ErrorKind::kInternal : told.error().kind();
}

TEST(TlsTest, client_trusts_only_the_right_server) {
  Authority authority;
  Authority stranger;
  auto named = authority.issue("localhost", "DNS:example.org");  // The subject does not count.
  auto addressed = authority.issue("server", "IP:127.0.0.1");
  TestServer by_name({.tls = server_files(named)}, tell);
  TestServer by_address({.tls = server_files(addressed)}, tell);
  auto localhost = [](const TestServer& server) {
    return fmt::format("wss://localhost:{}/echo", server.port());
  };
  EXPECT_TRUE(run(ask({.url = by_address.url("wss"), .ca_file = authority.ca_file()})).has_value());
  EXPECT_EQ(refusal_of({.url = by_address.url("wss"), .ca_file = stranger.ca_file()}),
            ErrorKind::kForbidden);
  EXPECT_EQ(refusal_of({.url = by_address.url("wss")}), ErrorKind::kForbidden);
  EXPECT_EQ(refusal_of({.url = localhost(by_address), .ca_file = authority.ca_file()}),
            ErrorKind::kForbidden);
  EXPECT_EQ(refusal_of({.url = localhost(by_name), .ca_file = authority.ca_file()}),
            ErrorKind::kForbidden);
  EXPECT_EQ(refusal_of({.url = by_name.url("wss"), .ca_file = authority.ca_file()}),
            ErrorKind::kForbidden);
}

TEST(TlsTest, name_in_the_url_is_verified) {
  Authority authority;
  auto pair = authority.issue("server", "DNS:localhost");
  TestServer server({.tls = server_files(pair)}, tell);
  auto told = run(ask({.url = fmt::format("wss://localhost:{}/echo", server.port()),
                       .ca_file = authority.ca_file()}));
  EXPECT_TRUE(told.has_value());
}

TEST(TlsTest, name_in_the_url_is_verified_at_a_given_address_too) {
  Authority authority;
  auto pair = authority.issue("server", "DNS:node-b.example,IP:127.0.0.1");
  TestServer server({.accept = {.host_check = HostCheck::kAny}, .tls = server_files(pair)}, tell);
  auto at = [&](std::string_view host) {
    return ConnectOptions{.url = fmt::format("wss://{}:{}/echo", host, server.port()),
                          .address = "127.0.0.1",
                          .ca_file = authority.ca_file()};
  };
  EXPECT_TRUE(run(ask(at("node-b.example"))).has_value());
  EXPECT_EQ(refusal_of(at("node-c.example")), ErrorKind::kForbidden);
}

TEST(TlsTest, files_that_cannot_be_used_are_invalid) {
  Authority authority;
  auto one = authority.issue("one", "");
  auto two = authority.issue("two", "");
  std::string url = "wss://127.0.0.1:1/";
  EXPECT_EQ(refusal_of({.url = url, .ca_file = "/nonexistent"}), ErrorKind::kInvalid);
  EXPECT_EQ(refusal_of({.url = url, .certificate_file = one.certificate, .key_file = two.key}),
            ErrorKind::kInvalid);
  EXPECT_EQ(refusal_of({.url = url, .certificate_file = "/nonexistent", .key_file = one.key}),
            ErrorKind::kInvalid);
}

TEST(TlsTest, plain_and_encrypted_do_not_mix) {
  Authority authority;
  auto pair = authority.issue("server", "IP:127.0.0.1");
  TestServer encrypted({.tls = server_files(pair)});
  TestServer plain;
  EXPECT_EQ(refusal_of({.url = encrypted.url("ws")}), ErrorKind::kUnavailable);
  EXPECT_EQ(refusal_of({.url = plain.url("wss"), .ca_file = authority.ca_file()}),
            ErrorKind::kForbidden);
}

// Messages around the size of a TLS record, in both directions at once.
Task<Status> exchange(ConnectOptions options) {
  CO_ASSIGN_OR_RETURN(auto connection, co_await connect({}, std::move(options)));
  std::vector<std::size_t> sizes;
  for (int round = 0; round < 20; ++round) {
    for (std::size_t size : {1, 100, 16'383, 16'384, 16'385, 70'000, 300'000}) {
      sizes.push_back(size);
      CO_RETURN_IF_ERROR(connection->send({Message::Kind::kBinary, std::string(size, 'm')}));
    }
  }
  for (std::size_t size : sizes) {
    CO_ASSIGN_OR_RETURN(Message message, co_await connection->receive());
    EXPECT_EQ(message.data.size(), size);
  }
  co_return Status{};
}

TEST(TlsTest, exchanges_messages_of_all_sizes) {
  Authority authority;
  auto pair = authority.issue("server", "IP:127.0.0.1");
  constexpr std::size_t kRoom = 32 << 20;
  TestServer server({.accept = {.connection = {.message_bytes = kRoom, .send_queue_bytes = kRoom}},
                     .tls = server_files(pair)});
  auto status = run(exchange({.url = server.url("wss"),
                              .ca_file = authority.ca_file(),
                              .connection = {.message_bytes = kRoom, .send_queue_bytes = kRoom}}));
  EXPECT_TRUE(status.has_value());
  EXPECT_EQ(server.ends.at(0).closure.end, End::kClosedByPeer);
  server.wait_for_connections(0);
}

}  // namespace
}  // namespace base::ws
