#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "base/json/json.h"
#include "toolserver/app/command.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/client/secure_client.h"

namespace tool::app {
namespace {

namespace asio = boost::asio;
namespace json = base::json;

int say(const Fault& fault) {
  fmt::print(stderr, "{}: {}\n", name(fault.code), fault.message);
  return 1;
}

// "name=value" pairs and a JSON object become one set of arguments.
base::Result<json::Object> arguments_of(const CallFlags& flags) {
  json::Object arguments;
  if (!flags.json.empty()) {
    ASSIGN_OR_RETURN(json::Value value, json::parse(flags.json));
    if (!value.is_object()) {
      return base::fail(base::ErrorKind::kInvalid, "--json: must be an object");
    }
    arguments = value.get_object();
  }
  for (const auto& pair : flags.arguments) {
    auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return base::fail(base::ErrorKind::kInvalid, "arguments: must be name=value");
    }
    std::string text = pair.substr(equals + 1);
    auto value = json::parse(text);
    arguments[pair.substr(0, equals)] = value ? std::move(*value) : json::Value(text);
  }
  return arguments;
}

void print_content(const client::ToolReply& reply) {
  for (const auto& part : reply.content) {
    if (!part.is_object()) continue;
    const auto& object = part.get_object();
    if (const auto* text = object.if_contains("text"); text != nullptr && text->is_string()) {
      fmt::print("{}\n", std::string_view(text->get_string()));
    } else {
      fmt::print("{}\n", json::write(part));
    }
  }
}

void print_progress(const json::Object& progress) {
  fmt::print(stderr, "progress {}\n", json::write(progress));
}

base::Task<int> run_call(client::SecureClient& client, CallFlags flags, json::Object arguments) {
  client::InvokeOptions options;
  options.deadline = std::chrono::milliseconds(flags.deadline_ms);
  options.dry_run = flags.dry_run;
  options.progress = print_progress;
  auto reply = co_await client.invoke_tool(flags.tool, std::move(arguments), std::move(options));
  if (!reply) co_return say(reply.error());
  print_content(*reply);
  co_return reply->is_error ? 1 : 0;
}

base::Task<int> run_list(client::SecureClient& client, ListFlags flags) {
  auto found = co_await client.list_capabilities();
  if (!found) co_return say(found.error());
  for (const auto& one : *found) {
    const auto* id = one.if_contains("id");
    const auto* title = one.if_contains("title");
    if (flags.json || id == nullptr || title == nullptr) {
      fmt::print("{}\n", json::write(one));
    } else {
      fmt::print("{:<24} {}\n", std::string_view(id->as_string()),
                 std::string_view(title->as_string()));
    }
  }
  co_return 0;
}

using Work = std::function<base::Task<int>(client::SecureClient&)>;

base::Task<int> connected(client::SecureClient& client, Work work) {
  auto session = co_await client.connect();
  if (!session) co_return say(session.error());
  int code = co_await work(client);
  co_await client.disconnect();
  co_return code;
}

int with_client(const ConfigFlags& flags, Work work) {
  auto loaded = settings::load(flags.places(), settings::Role::kClient);
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return 2;
  }
  base::SystemClock clock;
  base::SystemRandom random;
  auto options = client_options(loaded->config);
  if (!options) {
    fmt::print(stderr, "{}\n", options.error().message());
    return 2;
  }
  auto client = client::SecureClient::create(std::move(*options), clock, random);
  if (!client) {
    fmt::print(stderr, "{}\n", client.error().message());
    return 2;
  }
  asio::io_context loop(1);
  std::optional<int> code;
  asio::co_spawn(loop, connected(**client, std::move(work)),
                 [&](std::exception_ptr error, int result) {
                   if (error) std::terminate();
                   code = result;
                 });
  loop.run();
  return code.value_or(1);
}

}  // namespace

int call(const ConfigFlags& flags, const CallFlags& call) {
  auto arguments = arguments_of(call);
  if (!arguments) {
    fmt::print(stderr, "{}\n", arguments.error().message());
    return 2;
  }
  return with_client(flags, [&](client::SecureClient& client) {
    return run_call(client, call, std::move(*arguments));
  });
}

int list(const ConfigFlags& flags, const ListFlags& list) {
  return with_client(flags, [&](client::SecureClient& client) { return run_list(client, list); });
}

}  // namespace tool::app
