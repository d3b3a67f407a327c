#include "base/testing/postgres_server.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

namespace base::testing {
namespace {

constexpr std::string_view kPrograms = "/usr/lib/postgresql/15/bin/";
constexpr std::chrono::seconds kToolTime{60};
constexpr std::chrono::seconds kStartTime{30};
constexpr int kStarts = 20;

// Aborts with the reason, for what no test can do without.
template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}: {}\n", result.error().message(), result.error().detail());
  std::abort();
}

}  // namespace

PostgresServer& PostgresServer::shared() {
  static std::unique_ptr<PostgresServer> server = must(make());
  return *server;
}

Result<std::unique_ptr<PostgresServer>> PostgresServer::make() {
  std::unique_ptr<PostgresServer> server(new PostgresServer());
  RETURN_IF_ERROR(server->make_cluster());
  RETURN_IF_ERROR(server->start());
  return server;
}

Status PostgresServer::make_cluster() {
  if (::geteuid() == 0) {
    // PostgreSQL refuses to run as root.
    auto account = Account::of_user("postgres");
    if (!account) account = Account::of_user("nobody");
    if (!account) return std::move(account).error();
    account_ = *account;
    if (::chown(folder_.path().c_str(), account_->user, account_->group) != 0) {
      return fail(ErrorKind::kUnavailable, "cannot give away " + folder_.path());
    }
  }
  ASSIGN_OR_RETURN(int code,
                   run_tool("initdb", {"-D", folder_.path() + "/data", "-U", user(), "--auth=trust",
                                       "--encoding=UTF8", "--locale=C", "--no-sync"}));
  if (code != 0) return fail(ErrorKind::kUnavailable, fmt::format("initdb ended with {}", code));
  return {};
}

Result<int> PostgresServer::run_tool(const std::string& name, std::vector<std::string> arguments) {
  Program program{.path = std::string(kPrograms) + name,
                  .arguments = std::move(arguments),
                  .folder = folder_.path(),
                  .account = account_};
  ASSIGN_OR_RETURN(ChildProcess tool, ChildProcess::start(std::move(program)));
  return tool.wait(kToolTime);
}

Status PostgresServer::start() {
  Status status;
  for (int i = 0; i < kStarts; ++i) {
    // Other servers hold on to the port they had; the first start looks for one
    // until it finds one, a later start waits until the old sessions are gone.
    if (!server_) port_ = free_port();
    Program program{
        .path = std::string(kPrograms) + "postgres",
        .arguments = {"-D", folder_.path() + "/data", "-p", fmt::to_string(port_), "-k",
                      folder_.path(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c",
                      "full_page_writes=off", "-c", "max_connections=200"},
        .output = folder_.path() + "/log",
        .folder = folder_.path(),
        .account = account_,
        .stop_signal = SIGINT};
    ASSIGN_OR_RETURN(ChildProcess server, ChildProcess::start(std::move(program)));
    status = server.wait_until([this] { return is_ready(); }, kStartTime);
    if (status) {
      server_ = std::move(server);
      return {};
    }
  }
  return status;
}

bool PostgresServer::is_ready() {
  auto code = run_tool("pg_isready", {"-q", "-h", folder_.path(), "-p", fmt::to_string(port_)});
  return code && *code == 0;
}

std::string PostgresServer::make_database() {
  std::string name = fmt::format("test_{}", ++databases_);
  int code = must(run_tool(
      "createdb", {"-h", folder_.path(), "-p", fmt::to_string(port_), "-U", user(), name}));
  if (code != 0) std::abort();
  return name;
}

void PostgresServer::stop() {
  if (server_) server_->stop();
}

void PostgresServer::kill() {
  if (server_) server_->kill();
}

}  // namespace base::testing
