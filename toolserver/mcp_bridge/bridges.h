#pragma once

// All bridges of a service, on a thread of their own: what a foreign server
// makes us read is read there, and no caller's event loop waits for it.

#include <filesystem>
#include <future>
#include <memory>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/workers.h"
#include "toolserver/mcp_bridge/bridge.h"

namespace tool::bridge {

class Bridges {
 public:
  /// Begins to connect all of `configs`, and does not wait for any of them.
  /// Errors: as PinStore::open() and read(): a service that cannot tell what
  ///         was approved does not start; as LoginStore::open() where one has a login.
  [[nodiscard]] static base::Result<std::unique_ptr<Bridges>> start(
      const std::vector<settings::Bridge>& configs, const std::filesystem::path& pins,
      const std::filesystem::path& logins, const BridgeParts& parts);
  /// As stop().
  ~Bridges();

  /// Ends all of them, with their programs. Blocks. No call may run any more.
  void stop();

 private:
  Bridges() : thread_(1) {}

  base::Workers thread_;
  std::vector<std::shared_ptr<Bridge>> bridges_;
  std::vector<std::future<void>> running_;
};

}  // namespace tool::bridge
