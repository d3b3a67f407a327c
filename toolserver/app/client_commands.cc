#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "base/core/text.h"
#include "base/json/json.h"
#include "toolserver/app/command.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/client/secure_client.h"

namespace tool::app {
namespace {

namespace asio = boost::asio;
namespace json = base::json;

// What came from a server or a tool could else move the terminal's cursor, or
// pass for a line of ours. A program that reads it gets every byte.
void print_line(std::FILE* to, std::string_view text) {
  bool terminal = ::isatty(::fileno(to)) == 1;
  fmt::print(to, "{}\n", terminal ? base::for_terminal(text) : std::string(text));
}

int say(const Fault& fault) {
  print_line(stderr, fmt::format("{}: {}", name(fault.code), base::for_terminal(fault.message)));
  return 1;
}

std::string_view text_of(const json::Object& object, std::string_view member) {
  const auto* value = object.if_contains(boost::json::string_view(member.data(), member.size()));
  bool is_text = value != nullptr && value->is_string();
  return is_text ? std::string_view(value->get_string()) : std::string_view();
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
      print_line(stdout, std::string_view(text->get_string()));
    } else {
      print_line(stdout, json::write(part));
    }
  }
}

void print_progress(const json::Object& progress) {
  print_line(stderr, "progress " + json::write(progress));
}

// "content=123" is a number by its form, and a text where the tool wants one.
void restore_texts(json::Object& arguments, const CallFlags& flags, const json::Object& schema) {
  const auto* properties = schema.if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return;
  for (const auto& pair : flags.arguments) {
    std::string argument = pair.substr(0, pair.find('='));
    const auto* property = properties->get_object().if_contains(argument);
    if (property == nullptr || !property->is_object()) continue;
    if (text_of(property->get_object(), "type") != "string") continue;
    if (arguments[argument].is_string()) continue;
    arguments[argument] = pair.substr(pair.find('=') + 1);
  }
}

bool has_non_text(const json::Object& arguments, const CallFlags& flags) {
  return std::ranges::any_of(flags.arguments, [&](const std::string& pair) {
    const auto* value = arguments.if_contains(pair.substr(0, pair.find('=')));
    return value != nullptr && !value->is_string();
  });
}

// Where the schema cannot be had, the call itself says why.
base::Task<void> fit_to_schema(client::SecureClient& client, const CallFlags& flags,
                               json::Object& arguments) {
  if (!has_non_text(arguments, flags)) co_return;
  auto found = co_await client.call(session::Op::kCapGet, {{"tool", flags.tool}});
  if (!found) co_return;
  const auto* capability = found->if_contains("capability");
  if (capability == nullptr || !capability->is_object()) co_return;
  const auto* schema = capability->get_object().if_contains("inputSchema");
  if (schema != nullptr && schema->is_object()) {
    restore_texts(arguments, flags, schema->get_object());
  }
}

base::Task<int> run_call(client::SecureClient& client, CallFlags flags, json::Object arguments) {
  client::InvokeOptions options;
  options.deadline = std::chrono::milliseconds(flags.deadline_ms);
  options.dry_run = flags.dry_run;
  options.idempotency_key = flags.idempotency_key;
  options.progress = print_progress;
  co_await fit_to_schema(client, flags, arguments);
  auto reply = co_await client.invoke_tool(flags.tool, std::move(arguments), std::move(options));
  if (!reply) co_return say(reply.error());
  print_content(*reply);
  if (reply->is_error) fmt::print(stderr, "{} failed, and said what stands above\n", flags.tool);
  co_return reply->is_error ? 1 : 0;
}

base::Task<int> run_list(client::SecureClient& client, ListFlags flags) {
  auto found = co_await client.list_capabilities();
  if (!found) co_return say(found.error());
  if (found->empty()) {
    fmt::print(stderr, "no tools: the service has none, or your scopes let you see none\n");
  }
  for (const auto& one : *found) {
    auto id = text_of(one, "id");
    auto title = text_of(one, "title");
    bool whole = flags.json || id.empty() || title.empty();
    print_line(stdout, whole ? json::write(one) : fmt::format("{:<24} {}", id, title));
  }
  co_return 0;
}

base::Task<int> run_session_list(client::SecureClient& client, ListFlags flags) {
  auto answer = co_await client.call(session::Op::kSessionList, {});
  if (!answer) co_return say(answer.error());
  const auto* sessions = answer->if_contains("sessions");
  if (sessions == nullptr || !sessions->is_array()) {
    co_return say(refuse(Code::kShape, "sessions: must be an array"));
  }
  for (const auto& one : sessions->get_array()) {
    if (flags.json || !one.is_object()) {
      print_line(stdout, json::write(one));
      continue;
    }
    const auto& object = one.get_object();
    const auto* principal = object.if_contains("principal");
    bool named = principal != nullptr && principal->is_object();
    print_line(stdout, fmt::format("{:<27} {:<8} {:<16} {}", text_of(object, "session_id"),
                                   text_of(object, "method"), text_of(object, "peer"),
                                   named ? text_of(principal->get_object(), "sub") : ""));
  }
  co_return 0;
}

base::Task<int> run_consent_list(client::SecureClient& client, ListFlags flags) {
  auto answer = co_await client.call(session::Op::kConsentList, {});
  if (!answer) co_return say(answer.error());
  const auto* consents = answer->if_contains("consents");
  if (consents == nullptr || !consents->is_array()) {
    co_return say(refuse(Code::kShape, "consents: must be an array"));
  }
  for (const auto& one : consents->get_array()) {
    if (flags.json || !one.is_object()) {
      print_line(stdout, json::write(one));
      continue;
    }
    const auto& object = one.get_object();
    const auto* id = object.if_contains("id");
    const auto* principal = object.if_contains("principal");
    bool named = principal != nullptr && principal->is_object();
    print_line(
        stdout,
        fmt::format("{:<6} {:<10} {:<32} {} by {}", id == nullptr ? "" : json::write(*id),
                    text_of(object, "scope"), text_of(object, "tool"),
                    named ? text_of(principal->get_object(), "sub") : "", text_of(object, "by")));
  }
  co_return 0;
}

base::Task<int> run_consent_revoke(client::SecureClient& client, RevokeFlags flags) {
  json::Object which{{"id", flags.id}};
  if (!flags.subject.empty()) which = {{"sub", flags.subject}};
  auto answer = co_await client.call(session::Op::kConsentRevoke, std::move(which));
  if (!answer) co_return say(answer.error());
  const auto* revoked = answer->if_contains("revoked");
  if (revoked == nullptr || !revoked->is_int64()) {
    co_return say(refuse(Code::kShape, "revoked: must be a number"));
  }
  fmt::print("{} revoked\n", revoked->get_int64());
  co_return revoked->get_int64() > 0 ? 0 : 1;
}

base::Task<int> run_session_end(client::SecureClient& client, EndFlags flags) {
  json::Object which{{"session_id", flags.session}};
  if (!flags.subject.empty()) which = {{"sub", flags.subject}};
  auto answer = co_await client.call(session::Op::kSessionClose, std::move(which));
  if (!answer) co_return say(answer.error());
  const auto* closed = answer->if_contains("closed");
  if (closed == nullptr || !closed->is_int64()) {
    co_return say(refuse(Code::kShape, "closed: must be a number"));
  }
  fmt::print("{} ended\n", closed->get_int64());
  co_return closed->get_int64() > 0 ? 0 : 1;
}

// Whole on stdout; what went wrong, in a line for each step, on stderr.
int show_flow(const json::Object& answer) {
  print_line(stdout, json::write(answer));
  std::string_view state = text_of(answer, "state");
  if (const auto* error = answer.if_contains("error"); error != nullptr && error->is_object()) {
    print_line(stderr, fmt::format("{}: {}", text_of(error->get_object(), "code"),
                                   text_of(error->get_object(), "msg")));
  }
  return state == "done" ? 0 : 1;
}

void print_step(const json::Object& progress) {
  const auto* done = progress.if_contains("done");
  const auto* total = progress.if_contains("total");
  if (done == nullptr || !done->is_number() || total == nullptr || !total->is_number()) return;
  print_line(stderr, fmt::format("[{}/{}] {}", done->to_number<double>(),
                                 total->to_number<double>(), text_of(progress, "note")));
}

base::Task<int> run_flow_run(client::SecureClient& client, client::FlowRun flow) {
  // By this it is found again, whatever becomes of this process.
  print_line(stderr, fmt::format("run {}", flow.run.text()));
  flow.progress = print_step;
  auto answer = co_await client.flow_run(std::move(flow));
  if (!answer) co_return say(answer.error());
  co_return show_flow(*answer);
}

base::Task<int> run_flow_get(client::SecureClient& client, Ulid run) {
  auto answer = co_await client.flow_get(run);
  if (!answer) co_return say(answer.error());
  std::ignore = show_flow(*answer);
  co_return 0;
}

base::Task<int> run_flow_cancel(client::SecureClient& client, Ulid run) {
  auto answer = co_await client.flow_cancel(run);
  if (!answer) co_return say(answer.error());
  std::ignore = show_flow(*answer);
  co_return 0;
}

constexpr std::size_t kWorkflowBytes = 1 << 20;

base::Result<client::FlowRun> flow_of(const FlowFlags& flags) {
  using base::ErrorKind, base::fail;
  client::FlowRun flow;
  // The id of a run goes on with it; no file is looked for.
  if (auto id = Ulid::parse(flags.what)) {
    if (!flags.input.empty() || !flags.run.empty()) {
      return fail(ErrorKind::kInvalid, "--input, --run: are for a new run");
    }
    flow.run = *id;
    return flow;
  }
  ASSIGN_OR_RETURN(auto text, read_file(flags.what, kWorkflowBytes));
  auto value = json::parse(text);
  if (!value) return std::move(value).error().with_context(flags.what);
  if (!value->is_object()) return fail(ErrorKind::kInvalid, flags.what + ": must be an object");
  flow.workflow = std::move(value->get_object());
  if (!flags.input.empty()) {
    ASSIGN_OR_RETURN(flow.input, json::parse(flags.input));
    if (!flow.input.is_object()) return fail(ErrorKind::kInvalid, "--input: must be an object");
  }
  base::SystemRandom random;
  flow.run = Ulid::make(base::SystemClock().now(), random);
  if (!flags.run.empty()) {
    ASSIGN_OR_RETURN(flow.run, Ulid::parse(flags.run));
  }
  return flow;
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
  asio::io_context loop(1);
  auto client = client::SecureClient::create(std::move(*options), clock, random);
  if (!client) {
    fmt::print(stderr, "{}\n", client.error().message());
    return 2;
  }
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

int run_flow(const ConfigFlags& flags, const FlowFlags& flow) {
  auto made = flow_of(flow);
  if (!made) {
    fmt::print(stderr, "{}\n", made.error().message());
    return 2;
  }
  return with_client(
      flags, [&](client::SecureClient& client) { return run_flow_run(client, std::move(*made)); });
}

namespace {

// Of a run that is there.
int with_run(const ConfigFlags& flags, const FlowFlags& flow,
             base::Task<int> (*work)(client::SecureClient&, Ulid)) {
  auto id = Ulid::parse(flow.what);
  if (!id) {
    fmt::print(stderr, "run: must be a ULID\n");
    return 2;
  }
  return with_client(flags, [&](client::SecureClient& client) { return work(client, *id); });
}

}  // namespace

int get_flow(const ConfigFlags& flags, const FlowFlags& flow) {
  return with_run(flags, flow, run_flow_get);
}

int cancel_flow(const ConfigFlags& flags, const FlowFlags& flow) {
  return with_run(flags, flow, run_flow_cancel);
}

int list_sessions(const ConfigFlags& flags, const ListFlags& list) {
  return with_client(flags,
                     [&](client::SecureClient& client) { return run_session_list(client, list); });
}

int list_consents(const ConfigFlags& flags, const ListFlags& list) {
  return with_client(flags,
                     [&](client::SecureClient& client) { return run_consent_list(client, list); });
}

int revoke_consents(const ConfigFlags& flags, const RevokeFlags& revoke) {
  return with_client(
      flags, [&](client::SecureClient& client) { return run_consent_revoke(client, revoke); });
}

int end_sessions(const ConfigFlags& flags, const EndFlags& end) {
  return with_client(flags,
                     [&](client::SecureClient& client) { return run_session_end(client, end); });
}

}  // namespace tool::app
