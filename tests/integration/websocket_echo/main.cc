// A WebSocket peer for tests against foreign implementations: an echo server,
// a client that checks an echo, and a crowd of silent clients. Not part of any
// product.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "base/http/server.h"
#include "base/runtime/workers.h"
#include "base/websocket/accept.h"
#include "base/websocket/client.h"

namespace {

using namespace base;
using std::chrono::milliseconds;

struct Settings {
  std::string url;
  std::string subprotocol;
  std::string certificate, key, ca, clients = "none";
  std::vector<std::string> origins;
  std::uint16_t port = 0;
  std::size_t limit = 16 * 1024 * 1024;
  std::size_t messages = 10, bytes = 256, window = 1, count = 1;
  std::size_t idle_ms = 300'000, ping_ms = 30'000, close_ms = 2'000;
  std::string send_text, close_reason;
  std::uint16_t close_code = ws::kCloseNormal;
  bool binary = false;
};

ws::ConnectionOptions connection_options(const Settings& settings) {
  return {.message_bytes = settings.limit,
          .send_queue_bytes = settings.limit * 4,
          .ping = milliseconds(settings.ping_ms),
          .idle = milliseconds(settings.idle_ms),
          .close_time = milliseconds(settings.close_ms)};
}

// ---- Server ----

Task<void> echo(std::unique_ptr<ws::Connection> connection) {
  for (;;) {
    auto message = co_await connection->receive();
    if (!message) break;
    if (message->data == "who am I" && connection->peer_certificate()) {
      message->data = connection->peer_certificate()->subject;
    }
    if (!connection->send(std::move(*message))) break;
  }
}

Task<http::Response> answer(std::shared_ptr<const ws::AcceptOptions> options,
                            http::Request request) {
  if (request.path() == "/echo") co_return ws::accept(request, *options, echo);
  http::Response response;
  response.status = 404;
  co_return response;
}

http::Response refuse(unsigned status, std::string_view message) {
  http::Response response;
  response.status = status;
  response.body = http::Body(std::string(message));
  return response;
}

http::ServerOptions server_options(const Settings& settings) {
  http::ServerOptions options{.port = settings.port,
                              .limits = {.admission = {.connections = 20'000}}};
  if (!settings.certificate.empty()) {
    using enum http::ClientCertificates;
    options.tls = std::make_unique<http::TlsFiles>(
        http::TlsFiles{.certificate_chain = settings.certificate,
                       .private_key = settings.key,
                       .minimum = http::TlsVersion::kTls13,
                       .clients = settings.clients == "required"   ? kRequired
                                  : settings.clients == "optional" ? kOptional
                                                                   : kNone,
                       .client_ca = settings.ca});
  }
  return options;
}

int serve(const Settings& settings) {
  auto options = std::make_shared<const ws::AcceptOptions>(
      ws::AcceptOptions{.subprotocol = settings.subprotocol,
                        .origins = settings.origins,
                        .connection = connection_options(settings)});
  Workers workers(1);
  std::vector<http::Handler> handlers(1, [options](RequestContext, http::Request request) {
    return answer(options, std::move(request));
  });
  auto server = http::Server::start(server_options(settings), workers, handlers, refuse);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message().c_str());
    return 1;
  }
  std::printf("listening %u\n", unsigned{(*server)->port()});
  std::fflush(stdout);
  // Stands until its starter closes our input.
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  (*server)->shutdown(milliseconds(1'000));
  return 0;
}

// ---- Client ----

ws::ConnectOptions connect_options(const Settings& settings) {
  return {.url = settings.url,
          .subprotocol = settings.subprotocol,
          .ca_file = settings.ca,
          .certificate_file = settings.certificate,
          .key_file = settings.key,
          .connection = connection_options(settings)};
}

int report(const char* what, std::string_view kind, std::string_view reason, unsigned code) {
  std::printf("%s %.*s %.*s %u\n", what, int(kind.size()), kind.data(), int(reason.size()),
              reason.data(), code);
  std::fflush(stdout);
  return 2;
}

int report(const char* what, const Error& error, unsigned code) {
  return report(what, to_string(error.kind()), error.reason(), code);
}

// Messages of several sizes up to the largest, `window` of them on their way.
Task<int> exchange(Settings settings) {
  auto connection = co_await ws::connect({}, connect_options(settings));
  if (!connection) co_return report("refused", connection.error(), 0);
  auto kind = settings.binary ? ws::Message::Kind::kBinary : ws::Message::Kind::kText;
  auto message = [&](std::size_t i) {
    if (!settings.send_text.empty()) return settings.send_text;
    return std::string(settings.bytes, static_cast<char>('a' + i % 26));
  };
  std::size_t sent = 0;
  auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < settings.messages; ++i) {
    for (; sent < settings.messages && sent < i + settings.window; ++sent) {
      if (auto status = (*connection)->send({kind, message(sent)}); !status) {
        co_return report("send", status.error(), 0);
      }
    }
    auto got = co_await (*connection)->receive();
    if (!got) co_return report("ended", got.error(), (*connection)->closure().code);
    if (got->kind != kind || got->data != message(i)) co_return report("differs", "", "", 0);
  }
  std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
  (*connection)->close(settings.close_code, settings.close_reason);
  auto end = co_await (*connection)->receive();
  std::printf("ok %zu %.2f us each, %.*s\n", settings.messages,
              took.count() / static_cast<double>(settings.messages),
              int(end.error().reason().size()), end.error().reason().data());
  co_return 0;
}

Task<int> stay_silent(Settings settings) {
  std::vector<std::unique_ptr<ws::Connection>> crowd;
  for (std::size_t i = 0; i < settings.count; ++i) {
    auto connection = co_await ws::connect({}, connect_options(settings));
    if (!connection) co_return report("refused", connection.error(), 0);
    crowd.push_back(std::move(*connection));
  }
  std::printf("open %zu\n", crowd.size());
  std::fflush(stdout);
  char byte = 0;
  (void)!::read(STDIN_FILENO, &byte, 1);
  for (auto& connection : crowd) connection->abort();
  co_return 0;
}

int run(Task<int> task) {
  boost::asio::io_context loop;
  int code = 1;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, int result) {
    if (error) std::terminate();
    code = result;
  });
  loop.run();
  return code;
}

void add_options(CLI::App& app, Settings& settings) {
  app.add_option("--subprotocol", settings.subprotocol);
  app.add_option("--cert", settings.certificate);
  app.add_option("--key", settings.key);
  app.add_option("--ca", settings.ca);
  app.add_option("--limit", settings.limit);
  app.add_option("--idle-ms", settings.idle_ms);
  app.add_option("--ping-ms", settings.ping_ms);
  app.add_option("--close-ms", settings.close_ms);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Settings settings;
  CLI::App app("A WebSocket peer for tests");
  app.require_subcommand(1);
  CLI::App* server = app.add_subcommand("serve", "Echoes at /echo until its input is closed");
  add_options(*server, settings);
  server->add_option("--port", settings.port);
  server->add_option("--clients", settings.clients);
  server->add_option("--origin", settings.origins);
  CLI::App* client = app.add_subcommand("send", "Sends messages and checks their echo");
  add_options(*client, settings);
  client->add_option("url", settings.url)->required();
  client->add_option("--messages", settings.messages);
  client->add_option("--bytes", settings.bytes);
  client->add_option("--window", settings.window);
  client->add_option("--text", settings.send_text);
  client->add_option("--close-code", settings.close_code);
  client->add_option("--close-reason", settings.close_reason);
  client->add_flag("--binary", settings.binary);
  CLI::App* crowd = app.add_subcommand("idle", "Opens many connections and stays silent");
  add_options(*crowd, settings);
  crowd->add_option("url", settings.url)->required();
  crowd->add_option("--count", settings.count);
  CLI11_PARSE(app, argc, argv);
  if (server->parsed()) return serve(settings);
  return run(client->parsed() ? exchange(settings) : stay_silent(settings));
}
