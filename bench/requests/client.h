#pragma once

// One client of a load, with a connection of its own: sends its script, one
// request after the other, each as soon as the one before is answered.

#include <cstddef>
#include <memory>
#include <random>

#include "base/core/result.h"
#include "base/http/client.h"
#include "base/runtime/task.h"
#include "bench/requests/script.h"
#include "bench/samples/samples.h"

namespace bench {

/// On one event loop.
class ScriptedClient {
 public:
  /// `samples` outlives it, and is shared with others of the loop. `number` tells
  /// the clients of a load apart.
  ScriptedClient(const base::http::Origin& origin, Script script, Samples& samples,
                 unsigned number);

  /// Sends all. A request's time is that until it succeeded, with all that had
  /// to be done again after a conflict: as often and after such waits as Iceberg's
  /// Java client does by default.
  /// Errors: those of base::http::Client; kInvalid  an answer other than 2xx and 409.
  /// Source: Iceberg configuration, "Table behavior properties", commit.retry.
  [[nodiscard]] base::Task<base::Status> run();
  /// Answers 409 so far.
  [[nodiscard]] std::size_t conflicts() const { return conflicts_; }
  /// Requests that met conflicts only.
  [[nodiscard]] std::size_t given_up() const { return given_up_; }

 private:
  base::Task<base::Result<bool>> send(ScriptedRequest request);
  base::Task<void> wait_before(int retry);
  base::Task<base::Result<base::http::Response>> ask(base::http::Method method, std::string target,
                                                     std::string body);

  std::unique_ptr<base::http::Client> client_;
  Script script_;
  Samples& samples_;
  std::minstd_rand jitter_;
  std::size_t conflicts_ = 0;
  std::size_t given_up_ = 0;
};

}  // namespace bench
