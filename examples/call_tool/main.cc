// A program that calls one tool with the client library:
//   call_tool ws://127.0.0.1:7443/scp/v3
// The secrets come from the environment, as the service's own do: SCP_API_KEY,
// SCP_SECRET_KEY and SCP_KDF_SALT of a service in mode encrypted.

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/json/json.h"
#include "toolserver/client/secure_client.h"

namespace {

using tool::client::SecureClient;

base::Secret from_environment(const char* name) {
  const char* value = std::getenv(name);
  return base::Secret(value == nullptr ? "" : value);
}

tool::client::ClientOptions options_for(const char* url) {
  tool::client::ClientOptions options;
  options.url = url;
  options.plain = tool::client::PlainTransport::kLoopbackOnly;
  options.session.mode = tool::Mode::kEncrypted;
  options.session.suites = {tool::session::Suite::kX25519Aes256Gcm};
  options.session.method = tool::Method::kApiKey;
  options.session.secrets = {from_environment("SCP_SECRET_KEY"), from_environment("SCP_API_KEY"),
                             from_environment("SCP_KDF_SALT")};
  return options;
}

base::Task<void> call(SecureClient& client, int& code) {
  auto session = co_await client.connect();
  if (!session) {
    fmt::print(stderr, "{}: {}\n", name(session.error().code), session.error().message);
    co_return;
  }
  auto reply = co_await client.invoke_tool("sql.query", {{"sql", "SELECT 6 * 7 AS answer"}});
  if (reply) {
    fmt::print("{}\n", base::json::write(reply->structured.value_or(nullptr)));
    code = 0;
  } else {
    fmt::print(stderr, "{}: {}\n", name(reply.error().code), reply.error().message);
  }
  co_await client.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: call_tool URL\n");
    return 2;
  }
  base::SystemClock clock;
  base::SystemRandom random;
  boost::asio::io_context loop(1);  // It outlives the client.
  auto client = SecureClient::create(options_for(argv[1]), clock, random);
  if (!client) {
    fmt::print(stderr, "{}\n", client.error().message());
    return 2;
  }
  int code = 1;
  boost::asio::co_spawn(loop, call(**client, code), boost::asio::detached);
  loop.run();
  return code;
}
