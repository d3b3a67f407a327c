#include "toolserver/settings/bind.h"

// Who the node is, where it listens and how it is reached.

namespace tool::settings {

using base::config::DurationType;
using base::config::IntegerType;
using base::config::ListType;
using base::config::SecretType;
using base::config::TextType;
using base::config::UrlType;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::vector<Row> node_rows() {
  Rows rows("Core", Change::kRestart);
  rows.add(
          "node_id", SETTINGS_MEMBER(core.node_id), TextType{node_rule, kNameRule, 64}, "",
          "Name of this node, the issuer of its tokens; no two nodes share one. In mode simple the "
          "machine's host name when not set.")
      .add("mode", SETTINGS_MEMBER(core.mode), choice<Mode>(), "basic",
           "Security mode; which settings a mode needs stands below.")
      .add("server_url", SETTINGS_MEMBER(core.server_url), UrlType{{"ws", "wss"}}, "",
           "Address of the service, as clients reach it; a client connects to it.")
      .add("api_key", SETTINGS_MEMBER(core.api_key), SecretType{}, "",
           "Shared key of the mode simple; 24 random characters or more.", Change::kLive)
      .add("secret_key", SETTINGS_MEMBER(core.secret_key), SecretType{}, "",
           "Shared secret of the nodes and their clients; 32 random characters or more.")
      .add("jwt_secret", SETTINGS_MEMBER(core.jwt_secret), SecretType{}, "",
           "Key of session and client tokens under HS256, for servers alone; 32 random characters "
           "or more.",
           Change::kLive)
      .add("kdf_salt", SETTINGS_MEMBER(core.kdf_salt), SecretType{}, "",
           "Salt for the keys derived from secret_key; 16 random characters or more.")
      .add("secret_key_previous", SETTINGS_MEMBER(core.secret_key_previous), SecretType{}, "",
           "While secret_key is changed: a client also takes a server that still has this one.")
      .add("api_key_previous", SETTINGS_MEMBER(core.api_key_previous), SecretType{}, "",
           "While api_key is changed: a server also takes callers that still have this one.",
           Change::kLive)
      .add("jwt_secret_previous", SETTINGS_MEMBER(core.jwt_secret_previous), SecretType{}, "",
           "While jwt_secret is changed: client tokens that were signed with this one are still "
           "taken.",
           Change::kLive);
  return std::move(rows).done();
}

std::vector<Row> listen_rows() {
  Rows rows("Server", Change::kRestart);
  rows.add("server.host", SETTINGS_MEMBER(server.host), TextType{host_rule, "an address"},
           "127.0.0.1", "Address to listen on. Only this machine can connect by default.")
      .add("server.port", SETTINGS_MEMBER(server.port), IntegerType{0, 65535}, "7443",
           "Port to listen on; 0 takes a free one.")
      .add("server.path", SETTINGS_MEMBER(server.path), TextType{url_path_rule, kPathRule},
           "/scp/v3", "Path of the WebSocket; other paths are not found.")
      .add("server.tls_cert", SETTINGS_MEMBER(server.tls_cert), TextType{}, "",
           "PEM file with the certificate chain; used with security.tls_enabled.")
      .add("server.tls_key", SETTINGS_MEMBER(server.tls_key), TextType{}, "",
           "PEM file with the certificate's private key.")
      .add("server.client_ca", SETTINGS_MEMBER(server.client_ca), TextType{}, "",
           "PEM file with the authorities of client certificates.")
      .add("server.client_certificate", SETTINGS_MEMBER(server.client_certificate),
           choice<ClientCertificate>(), "none",
           "Whether a client may or must show a certificate of server.client_ca.")
      .add("server.allowed_origins", SETTINGS_MEMBER(server.allowed_origins),
           ListType{origin_rule, kOriginRule}, "",
           "Web origins that may connect; a request with another Origin is refused.", Change::kLive)
      .add("server.workers", SETTINGS_MEMBER(server.workers), IntegerType{0, 256}, "0",
           "Event loops; 0 starts one on each core.");
  return std::move(rows).done();
}

std::vector<Row> timer_rows() {
  Rows rows("Server", Change::kRestart);
  DurationType short_time{milliseconds(100), seconds(60)};
  rows.add("server.hello_timeout", SETTINGS_MEMBER(server.hello_timeout), short_time, "5",
           "Time from the connection to its hello.")
      .add("server.auth_timeout", SETTINGS_MEMBER(server.auth_timeout), short_time, "10",
           "Time from the hello to the end of authentication.")
      .add("server.idle_timeout", SETTINGS_MEMBER(server.idle_timeout),
           DurationType{seconds(1), hours(24)}, "300",
           "Time without a message after which a session is closed.")
      .add("server.ping_interval", SETTINGS_MEMBER(server.ping_interval),
           DurationType{milliseconds(500), hours(1)}, "30", "Time between two pings.")
      .add("server.write_timeout", SETTINGS_MEMBER(server.write_timeout), short_time, "10",
           "Time in which a client must take the next 128 KiB of what is sent; then it is "
           "disconnected as a slow consumer.")
      .add("server.drain_timeout", SETTINGS_MEMBER(server.drain_timeout),
           DurationType{milliseconds(0), hours(1)}, "30",
           "Time that running calls have to end when the service stops.");
  return std::move(rows).done();
}

}  // namespace

std::vector<Row> core_rows() {
  std::vector<Row> out;
  for (auto* part : {node_rows, listen_rows, timer_rows}) {
    for (auto& row : part()) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace tool::settings
