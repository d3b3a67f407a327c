#include "toolserver/mcp_bridge/sign_in.h"

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "toolserver/mcp_bridge/server_session.h"

namespace tool::bridge {
namespace {

namespace asio = boost::asio;

base::Task<Outcome<std::size_t>> count_tools(HttpLink& link, Unasked& unasked,
                                             SessionOptions options) {
  auto session = co_await ServerSession::open(link, unasked, std::move(options));
  if (!session) co_return std::move(session).error();
  auto listed = co_await (*session)->list(Listed::kTools);
  if (!listed) co_return std::move(listed).error();
  co_return listed->size();
}

}  // namespace

HttpLinkOptions http_options(const settings::Bridge& config) {
  HttpLinkOptions options;
  options.url = config.url;
  for (const auto& header : config.headers) options.headers.emplace_back(header.name, header.value);
  options.ca_file = config.ca_cert_path.string();
  options.timeout = config.timeout;
  return options;
}

login::LoginOptions login_options(const settings::Bridge& config) {
  const settings::BridgeLogin& wanted = *config.login;
  login::LoginOptions options;
  options.bridge = config.name;
  options.server_url = config.url;
  options.grant = wanted.grant == settings::LoginGrant::kClientCredentials
                      ? login::Grant::kClientCredentials
                      : login::Grant::kAuthorizationCode;
  options.client_id = wanted.client_id;
  options.client_secret = wanted.client_secret;
  options.private_key = wanted.private_key;
  options.client_url = wanted.client_metadata_url;
  options.issuer = wanted.issuer;
  options.scopes = wanted.scopes;
  options.networks = wanted.networks;
  options.ca_file = config.ca_cert_path.string();
  return options;
}

base::Task<Outcome<std::size_t>> sign_in(settings::Bridge config, login::LoginParts parts,
                                         std::chrono::milliseconds time) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto options = login_options(config);
  options.ask_anew = true;
  auto loop = parts.loop;
  auto made = login::Login::create(std::move(options), std::move(parts));
  if (!made) co_return to_fault(std::move(made).error());
  std::shared_ptr<login::Login> login = std::move(*made);
  if (auto opened = co_await login->open(); !opened) co_return to_fault(std::move(opened).error());
  Unasked unasked;
  LinkEvents events;
  events.notified = [&unasked](const mcp::Notification& one) { unasked.take(one); };
  auto link_options = http_options(config);
  link_options.login = login;
  auto link = HttpLink::create(std::move(link_options), std::move(events), loop);
  if (!link) co_return to_fault(std::move(link).error());
  SessionOptions session;
  session.timeout = time;
  session.probe_time = time;
  if (auto oldest = mcp::revision_of(config.oldest_version)) session.oldest = *oldest;
  auto tools = co_await count_tools(**link, unasked, std::move(session));
  (*link)->close();
  co_await (*link)->finish();
  co_await login->wait();
  if (tools && login->token().empty()) {
    co_return refuse(Code::kPolicy, "the server lets everybody in; it asked for no login");
  }
  co_return tools;
}

}  // namespace tool::bridge
