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

// Where one attempt goes: an address of a host, or the host itself (a socket's
// folder, an address) where there is nothing to look up.
struct Target {
  std::string host, address, port;
};

struct Targets {
  std::vector<Target> all;
  std::string not_found;  ///< Of hosts without an address: why.
};

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items(1);
  for (char c : list) {
    if (c == ',') {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

Task<Result<Targets>> targets_of(std::shared_ptr<const PoolOptions> options) {
  const std::vector<std::string> hosts = items_of(options->host);
  const std::vector<std::string> ports = items_of(options->port);
  if (ports.size() != 1 && ports.size() != hosts.size()) {
    co_return refused("one port, or a port for each host");
  }
  Targets targets;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string& port = ports[ports.size() == 1 ? 0 : i];
    if (!needs_lookup(hosts[i])) {
      targets.all.push_back({hosts[i], "", port});
      continue;
    }
    auto addresses = co_await look_up(hosts[i]);
    if (!addresses) {
      targets.not_found += addresses.error().detail() + "; ";
      continue;
    }
    for (auto& address : *addresses) targets.all.push_back({hosts[i], std::move(address), port});
  }
  if (targets.all.empty()) co_return refused(targets.not_found);
  co_return targets;
}

using Settings = std::vector<std::pair<const char*, std::string>>;

std::string session_options(const PoolOptions& options) {
  // The last four are for TCP alone; a socket in a folder knows when its peer is gone.
  const auto seconds = std::max<std::int64_t>(options.peer_time.count() / 1000, 4);
  return fmt::format(
      "-c statement_timeout={} -c bytea_output=hex -c timezone=UTC -c datestyle=ISO "
      "-c client_min_messages=error -c idle_in_transaction_session_timeout={} "
      "-c tcp_user_timeout={} -c tcp_keepalives_idle={} -c tcp_keepalives_interval={} "
      "-c tcp_keepalives_count=2",
      options.statement_time.count(), options.idle_transaction_time.count(),
      options.peer_time.count(), seconds / 2, seconds / 4);
}

Settings settings_of(const PoolOptions& options, const Target& target) {
  const auto seconds = std::max<std::int64_t>(options.peer_time.count() / 1000, 4);
  const bool several = options.host.contains(',');
  return {
      {"host", target.host},
      {"hostaddr", target.address},
      {"port", target.port},
      {"user", options.user},
      {"dbname", options.database},
      {"application_name", options.application_name},
      {"client_encoding", "UTF8"},
      {"sslmode", options.tls_mode},
      {"sslrootcert", options.tls_root_certificates},
      {"gssencmode", "disable"},
      {"target_session_attrs", several ? "read-write" : "any"},
      {"tcp_user_timeout", fmt::to_string(options.peer_time.count())},
      {"keepalives_idle", fmt::to_string(seconds / 2)},
      {"keepalives_interval", fmt::to_string(seconds / 4)},
      {"keepalives_count", "2"},
      {"options", session_options(options)},
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

Task<Result<ConnectionPtr>> connect_to(std::shared_ptr<const PoolOptions> options, Target target,
                                       Deadline deadline) {
  ConnectionPtr connection = start(settings_of(*options, target), options->password);
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

}  // namespace

Task<Result<ConnectionPtr>> connect(std::shared_ptr<const PoolOptions> options, Deadline deadline) {
  CO_ASSIGN_OR_RETURN(Targets targets, co_await targets_of(options));
  std::string failures = std::move(targets.not_found);
  for (std::size_t i = 0;; ++i) {
    // One that does not answer must not take the time of those behind it.
    const auto left = static_cast<std::int64_t>(targets.all.size() - i);
    const auto now = std::chrono::steady_clock::now();
    const Deadline until = left == 1 ? deadline : now + (deadline - now) / left;
    auto connected = co_await connect_to(options, targets.all[i], until);
    if (connected) co_return connected;
    if (left == 1 || connected.error().kind() == ErrorKind::kCancelled) {
      co_return std::move(connected).error().with_detail(failures + connected.error().detail());
    }
    failures += targets.all[i].host + ": " + connected.error().detail() + "; ";
  }
}

}  // namespace base::pg
