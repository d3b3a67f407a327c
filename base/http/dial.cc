#include "base/http/dial.h"

#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <vector>

namespace base::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kToTuple = asio::as_tuple(asio::use_awaitable);

// A name service that hangs cannot be cancelled, only left behind: the lookup
// holds what it needs and its answer comes to nobody.
struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}
  tcp::resolver resolver;
  asio::steady_timer done;
  error_code error = asio::error::would_block;
  std::vector<tcp::endpoint> endpoints;
};

using Endpoints = Result<std::vector<tcp::endpoint>>;

// Every name below "localhost" is this machine, whatever a name service says or does not know:
// the buckets of a store on this machine, for instance.
// Source: RFC 6761, "localhost.", rule 3.
std::string name_to_look_up(std::string host) {
  return boost::algorithm::iends_with(host, ".localhost") ? "localhost" : host;
}

Task<Endpoints> resolve(Origin origin, Deadline until) {
  error_code not_an_address;
  auto address = asio::ip::make_address(origin.host, not_an_address);
  if (!not_an_address) co_return std::vector{tcp::endpoint(address, origin.port)};
  auto lookup = std::make_shared<Lookup>(co_await asio::this_coro::executor);
  lookup->done.expires_at(until);
  lookup->resolver.async_resolve(name_to_look_up(origin.host), std::to_string(origin.port),
                                 [lookup](error_code error, tcp::resolver::results_type results) {
                                   lookup->error = error;
                                   for (const auto& entry : results) {
                                     lookup->endpoints.push_back(entry.endpoint());
                                   }
                                   lookup->done.cancel();
                                 });
  co_await lookup->done.async_wait(kToTuple);
  if (co_await was_cancelled()) co_return cancelled();
  if (lookup->error == asio::error::would_block) co_return timed_out("while resolving the host");
  if (lookup->error) co_return unavailable("cannot resolve the host: " + lookup->error.message());
  co_return std::move(lookup->endpoints);
}

Task<Status> connect_to_one(tcp::socket& socket, Watchdog& watchdog,
                            std::vector<tcp::endpoint> endpoints) {
  error_code last = asio::error::host_not_found;
  for (const auto& endpoint : endpoints) {
    error_code ignored;  // Not open yet the first time round.
    socket.close(ignored);
    auto [error] = co_await socket.async_connect(endpoint, kToTuple);
    if (co_await was_cancelled()) co_return cancelled();
    if (watchdog.expired()) co_return timed_out("while connecting");
    last = error;
    if (error) continue;
    socket.set_option(tcp::no_delay(true), ignored);  // Only slower without it.
    co_return Status{};
  }
  auto error = unavailable("cannot connect: " + last.message());
  bool is_nobody_there = last == asio::error::connection_refused ||
                         last == asio::error::host_unreachable ||
                         last == asio::error::network_unreachable;
  if (is_nobody_there) co_return std::move(error).with_reason(kNobodyThere);
  co_return error;
}

}  // namespace

Watchdog::Watchdog(tcp::socket& socket)
    : state_(std::make_shared<State>(asio::steady_timer(socket.get_executor()), &socket)) {}

Watchdog::~Watchdog() {
  state_->socket = nullptr;
  state_->timer.cancel();
}

void Watchdog::arm(Deadline until) {
  state_->expired = false;
  state_->timer.expires_at(until);
  state_->timer.async_wait([state = state_](error_code) {
    // A handler that was already on its way when the timer was set anew
    // still sees success; the clock tells it apart.
    if (state->socket == nullptr || std::chrono::steady_clock::now() < state->timer.expiry()) {
      return;
    }
    state->expired = true;
    error_code ignored;  // A socket that cannot be closed is of no use either.
    state->socket->close(ignored);
  });
}

Task<Status> dial(tcp::socket& socket, Watchdog& watchdog, Origin origin, Deadline until,
                  AddressFilter filter) {
  CO_ASSIGN_OR_RETURN(auto endpoints, co_await resolve(std::move(origin), until));
  if (filter) {
    std::erase_if(endpoints, [&](const auto& endpoint) { return !filter(endpoint.address()); });
    if (endpoints.empty()) {
      co_return fail(ErrorKind::kForbidden, "the host's address may not be connected to");
    }
  }
  watchdog.arm(until);
  co_return co_await connect_to_one(socket, watchdog, std::move(endpoints));
}

Task<bool> was_cancelled() {
  auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

Error unavailable(std::string detail) {
  return fail(ErrorKind::kUnavailable, "a server this request needs cannot be reached")
      .with_detail(std::move(detail));
}

Error cancelled() { return fail(ErrorKind::kCancelled, "the request was cancelled"); }

Error timed_out(std::string detail) {
  return fail(ErrorKind::kTimeout, "a server this request needs did not answer in time")
      .with_detail(std::move(detail));
}

}  // namespace base::http
