#include "base/postgres/connect.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace base::pg {
namespace {

namespace asio = boost::asio;

Error refused(std::string detail) {
  return Error(ErrorKind::kUnavailable, std::string(message_for(ErrorKind::kUnavailable)))
      .with_detail(std::move(detail));
}

Error lost(Loss loss) {
  ErrorKind kind = loss == Loss::kCancelled  ? ErrorKind::kCancelled
                   : loss == Loss::kDeadline ? ErrorKind::kTimeout
                                             : ErrorKind::kUnavailable;
  return Error(kind, std::string(message_for(kind))).with_detail("while connecting");
}

bool needs_lookup(const std::string& host) {
  if (host.empty() || host.front() == '/' || host.front() == '@') return false;
  boost::system::error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  return static_cast<bool>(not_an_address);
}

// libpq would look the name up itself, and block.
Task<Result<std::vector<std::string>>> look_up(std::string host) {
  asio::ip::tcp::resolver resolver(co_await asio::this_coro::executor);
  auto [failed, found] =
      co_await resolver.async_resolve(host, "", asio::as_tuple(asio::use_awaitable));
  if (failed) co_return refused("no address for " + host + ": " + failed.message());
  std::vector<std::string> addresses;
  for (const auto& entry : found) addresses.push_back(entry.endpoint().address().to_string());
  if (addresses.empty()) co_return refused("no address for " + host);
  co_return addresses;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::vector<std::string_view> copies(times, text);
  return fmt::format("{}", fmt::join(copies, ","));
}

using Settings = std::vector<std::pair<const char*, std::string>>;

// One host and port stand for each address, as libpq's lists want it.
Settings settings_of(const PoolOptions& options, const std::vector<std::string>& addresses) {
  std::size_t times = std::max<std::size_t>(addresses.size(), 1);
  return {
      {"host", repeated(options.host, times)},
      {"hostaddr", fmt::format("{}", fmt::join(addresses, ","))},
      {"port", repeated(options.port, times)},
      {"user", options.user},
      {"dbname", options.database},
      {"application_name", options.application_name},
      {"client_encoding", "UTF8"},
      {"sslmode", options.tls_mode},
      {"sslrootcert", options.tls_root_certificates},
      {"gssencmode", "disable"},
      {"keepalives_idle", "30"},
      {"keepalives_interval", "10"},
      {"keepalives_count", "3"},
      {"options",
       fmt::format("-c statement_timeout={} -c bytea_output=hex -c timezone=UTC -c datestyle=ISO "
                   "-c client_min_messages=error",
                   options.statement_time.count())},
  };
}

ConnectionPtr start(const Settings& settings, const Secret& password) {
  std::vector<const char*> keys{"password"};
  std::vector<const char*> values{password.reveal().c_str()};
  for (const auto& [key, value] : settings) {
    keys.push_back(key);
    values.push_back(value.c_str());
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  return ConnectionPtr(PQconnectStartParams(keys.data(), values.data(), 0));
}

Task<Status> poll(PGconn* connection, Deadline deadline) {
  SocketWait socket(co_await asio::this_coro::executor);
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED) co_return refused(PQerrorMessage(connection));
    // libpq may have gone on to another address under the same number.
    if (!socket.watch(PQsocket(connection))) co_return refused("no file descriptor left");
    Interest interest = state == PGRES_POLLING_READING ? Interest::kRead : Interest::kWrite;
    Loss loss = co_await socket.wait(interest, deadline);
    if (loss != Loss::kNone) co_return lost(loss);
    state = PQconnectPoll(connection);
  }
  co_return Status();
}

}  // namespace

Task<Result<ConnectionPtr>> connect(std::shared_ptr<const PoolOptions> options, Deadline deadline) {
  std::vector<std::string> addresses;
  if (needs_lookup(options->host)) {
    CO_ASSIGN_OR_RETURN(addresses, co_await look_up(options->host));
  }
  ConnectionPtr connection = start(settings_of(*options, addresses), options->password);
  if (connection == nullptr) co_return refused("out of memory");
  if (PQstatus(connection.get()) == CONNECTION_BAD) {
    co_return refused(PQerrorMessage(connection.get()));
  }
  CO_RETURN_IF_ERROR(co_await poll(connection.get(), deadline));
  if (PQsetnonblocking(connection.get(), 1) != 0 || PQenterPipelineMode(connection.get()) != 1) {
    co_return refused(PQerrorMessage(connection.get()));
  }
  co_return connection;
}

}  // namespace base::pg
