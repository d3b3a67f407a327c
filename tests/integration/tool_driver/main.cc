// The client library as a program that tests in another language drive, for many
// sessions one after another: a command in each line of the input, and for each
// a line with its `id` and its `value` or `error`. It ends with its input. The
// commands and options are those of clients/typescript/test/support/driver.ts.
//
//   {"id":1,"do":"make","options":{"url":"ws://127.0.0.1:7443","mode":"simple","apiKey":"..."}}
//   {"id":2,"do":"connect"}
//   {"id":3,"do":"invoke","tool":"files.stat","p":{"path":"notes"}}
//   {"id":4,"do":"disconnect"}

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json/json.h"
#include "toolserver/client/secure_client.h"

namespace {

namespace asio = boost::asio;
namespace json = base::json;
using tool::Fault;
using tool::Outcome;
using tool::client::ClientOptions;
using tool::client::SecureClient;

std::string text(const json::Object& object, std::string_view name) {
  const auto* found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

json::Object object(const json::Object& outer, std::string_view name) {
  const auto* found = outer.if_contains(name);
  return found != nullptr && found->is_object() ? found->get_object() : json::Object();
}

std::optional<tool::Mode> mode_of(std::string_view word) {
  for (auto mode :
       {tool::Mode::kSimple, tool::Mode::kBasic, tool::Mode::kEncrypted, tool::Mode::kEnterprise}) {
    if (name(mode) == word) return mode;
  }
  return std::nullopt;
}

Outcome<ClientOptions> options_of(const json::Object& said) {
  auto mode = mode_of(text(said, "mode"));
  if (!mode) return tool::refuse(tool::Code::kShape, "options.mode: is none");
  ClientOptions options;
  options.url = text(said, "url");
  options.plain = tool::client::PlainTransport::kLoopbackOnly;
  options.reconnect = tool::client::Reconnect::kNever;
  options.connect_time = std::chrono::seconds(60);
  options.ca_file = text(said, "ca");
  options.holder_key_file = text(said, "holderKey");
  auto& session = options.session;
  session.mode = *mode;
  bool has_records = *mode == tool::Mode::kEncrypted;
  session.suites = {has_records ? tool::session::Suite::kX25519Aes256Gcm
                                : tool::session::Suite::kNone};
  session.secrets.secret_key = base::Secret(text(said, "secretKey"));
  session.secrets.api_key = base::Secret(text(said, "apiKey"));
  session.secrets.kdf_salt = base::Secret(text(said, "kdfSalt"));
  session.token = base::Secret(text(said, "token"));
  session.method = tool::Method::kApiKey;
  if (!session.token.empty()) {
    session.method = *mode == tool::Mode::kEnterprise ? tool::Method::kOauth2 : tool::Method::kJwt;
  }
  return options;
}

class Driver {
 public:
  Outcome<json::Value> run(const json::Object& command) {
    std::string what = text(command, "do");
    if (what == "make") return make(object(command, "options"));
    if (!client_) return tool::refuse(tool::Code::kShape, "do: make comes first");
    if (what == "connect") return wait(connect());
    if (what == "list") return wait(list());
    if (what == "invoke") return wait(invoke(text(command, "tool"), object(command, "p")));
    if (what == "disconnect") return wait(disconnect());
    return tool::refuse(tool::Code::kShape, "do: " + what);
  }

 private:
  Outcome<json::Value> make(const json::Object& said) {
    client_.reset();
    auto options = options_of(said);
    if (!options) return std::move(options).error();
    auto client = SecureClient::create(std::move(*options), clock_, random_);
    if (!client) return tool::to_fault(std::move(client).error());
    client_ = std::move(*client);
    return json::Value();
  }

  base::Task<Outcome<json::Value>> connect() {
    auto session = co_await client_->connect();
    if (!session) co_return std::move(session).error();
    co_return json::Object{{"session_id", session->session_id}};
  }

  base::Task<Outcome<json::Value>> list() {
    auto records = co_await client_->list_capabilities();
    if (!records) co_return std::move(records).error();
    json::Array out;
    for (auto& record : *records) out.push_back(std::move(record));
    co_return std::move(out);
  }

  base::Task<Outcome<json::Value>> invoke(std::string tool, json::Object args) {
    auto reply = co_await client_->invoke_tool(std::move(tool), std::move(args));
    if (!reply) co_return std::move(reply).error();
    co_return std::move(reply->payload);
  }

  base::Task<Outcome<json::Value>> disconnect() {
    co_await client_->disconnect();
    co_return json::Value();
  }

  // The loop runs while a command does: between two there is nothing to wait for.
  Outcome<json::Value> wait(base::Task<Outcome<json::Value>> task) {
    std::optional<Outcome<json::Value>> done;
    asio::co_spawn(loop_, std::move(task),
                   [&](const std::exception_ptr& error, Outcome<json::Value> outcome) {
                     if (error) std::terminate();
                     done = std::move(outcome);
                   });
    loop_.restart();
    while (!done && loop_.run_one() > 0) {
    }
    if (!done) return tool::refuse(tool::Code::kInternal, "nothing is left that could end it");
    return *std::move(done);
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
  asio::io_context loop_{1};  // It outlives the client.
  std::unique_ptr<SecureClient> client_;
};

// As driver.ts writes an ScpError.
json::Object error_of(const Fault& fault) {
  json::Object error{{"name", "ScpError"},
                     {"code", name(fault.code)},
                     {"message", fault.message},
                     {"printed", fault.message}};
  if (fault.retry_after) error["retryMs"] = fault.retry_after->count();
  return error;
}

}  // namespace

int main() {
  Driver driver;
  for (std::string line; std::getline(std::cin, line);) {
    auto command = json::parse(line);
    if (!command || !command->is_object()) {
      fmt::print(stderr, "tool_driver: a line that is no command\n");
      return 2;
    }
    auto outcome = driver.run(command->get_object());
    json::Object out{{"id", command->get_object()["id"]}};
    if (outcome) {
      out["value"] = std::move(*outcome);
    } else {
      out["error"] = error_of(outcome.error());
    }
    fmt::print("{}\n", json::write(out));
    std::fflush(stdout);
  }
  return 0;
}
