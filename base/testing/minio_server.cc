#include "base/testing/minio_server.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace base::testing {
namespace {

constexpr std::chrono::seconds kStartTime{30};
constexpr int kPortTries = 3;

}  // namespace

Result<MinioServer> MinioServer::start() {
  ASSIGN_OR_RETURN(std::string program,
                   required_environment("TEST_MINIO", "the path of the minio program"));
  for (int attempt = 1;; ++attempt) {
    auto folder = std::make_unique<TemporaryFolder>();
    std::uint16_t port = free_port();
    ASSIGN_OR_RETURN(
        ChildProcess process,
        ChildProcess::start({.path = program,
                             .arguments = {"server", "--address", fmt::format("127.0.0.1:{}", port),
                                           "--quiet", folder->path() + "/data"},
                             .environment = {{"MINIO_ROOT_USER", kAccessKey},
                                             {"MINIO_ROOT_PASSWORD", kSecretKey},
                                             {"MINIO_BROWSER", "off"},
                                             {"MINIO_UPDATE", "off"},
                                             {"HOME", folder->path()}},
                             .output = folder->path() + "/output"}));
    auto ready =
        process.wait_until([&] { return answers_ok(port, "/minio/health/cluster"); }, kStartTime);
    if (ready) return MinioServer(std::move(folder), std::move(process), port);
    // The port may have been taken since it was found free.
    if (ready.error().kind() != ErrorKind::kUnavailable || attempt == kPortTries) {
      return std::move(ready).error();
    }
  }
}

std::string MinioServer::endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }

}  // namespace base::testing
