#pragma once

// A real S3 server for one test program: its own port, folder and keys, gone
// when the test is over.

#include <cstdint>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/testing/child_process.h"

namespace base::testing {

class MinioServer {
 public:
  static constexpr const char* kAccessKey = "test-access-key";
  static constexpr const char* kSecretKey = "test-secret-key";

  /// Runs the program that the environment variable TEST_MINIO names.
  /// Errors: kInvalid  TEST_MINIO is not set; kUnavailable, kTimeout  the
  /// server does not start, with the end of its output as detail.
  [[nodiscard]] static Result<MinioServer> start();

  /// "http://127.0.0.1:port".
  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] ChildProcess& process() { return process_; }

 private:
  MinioServer(std::unique_ptr<TemporaryFolder> folder, ChildProcess process, std::uint16_t port)
      : folder_(std::move(folder)), process_(std::move(process)), port_(port) {}

  std::unique_ptr<TemporaryFolder> folder_;  // Outlives the process.
  ChildProcess process_;
  std::uint16_t port_;
};

}  // namespace base::testing
