#pragma once

// The S3 gateway of the process, where it is on: a server of its own, on a port of its own.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/http/server.h"
#include "base/runtime/workers.h"
#include "lakeproxy/app/shared.h"
#include "lakeproxy/gateway/gateway.h"
#include "lakeproxy/http/route.h"

namespace lake::app {

/// As clients find it: the setting, or the server's own address.
[[nodiscard]] std::string gateway_url(const settings::Settings& settings);
/// Errors: kInvalid  the secret.
[[nodiscard]] base::Result<gateway::Keys> gateway_keys(const settings::Settings& settings,
                                                       base::Random& random);

/// How the gateway's keys are given to clients; null where it is off. `random` and `clock` outlive
/// it. Errors: kInvalid  the secret.
[[nodiscard]] base::Result<delegation::MintKeys> gateway_minting(const settings::Settings& settings,
                                                                 base::Random& random,
                                                                 const base::Clock& clock);

class GatewayServer {
 public:
  /// `routes` are those of each worker; they, `shared` and the workers outlive it. `options` says
  /// where to listen.
  /// Errors: kInvalid  a setting; kUnavailable  the port is taken.
  [[nodiscard]] static base::Result<std::unique_ptr<GatewayServer>> start(
      base::http::ServerOptions options, Shared& shared, base::Workers& workers,
      const std::vector<http::Services*>& routes);

  [[nodiscard]] base::http::Server& server() { return *server_; }

 private:
  explicit GatewayServer(Shared& shared);
  base::Status add_loop(Shared& shared, http::Services* routes);

  gateway::GatewayMetrics metrics_;
  auth::Standing standing_;
  std::vector<std::unique_ptr<gateway::Keys>> keys_;  ///< One for each loop, as those below.
  std::vector<std::unique_ptr<gateway::Gateway>> gateways_;
  std::unique_ptr<base::http::Server> server_;
};

}  // namespace lake::app
