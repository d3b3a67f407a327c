#pragma once

// A node is known by its key, and may be taken over, or change its mind: a tool that
// was harmless when its callers got their scopes must not become another one behind
// the same name. As it was first seen a tool is approved; when its record changes it
// waits for an operator.
// Source: docs/adr/0120, 0151; docs/tools/federation.md.

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/log/logger.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "toolserver/model/capability.h"
#include "toolserver/pins/pin_store.h"
#include "toolserver/pipeline/registry.h"

namespace tool::federation {

struct PinParts {
  std::filesystem::path folder;  ///< Empty: tools of nodes are not pinned.
  base::BlockingPool& pool;
  /// Writes an event into the audit trail; `what` is a literal.
  std::function<void(std::string_view what, base::json::Object details)> record;
};

/// Of one node; on its loop.
class PeerPins {
 public:
  PeerPins(std::string node_id, PinParts parts, const base::Clock& clock, base::log::Logger log)
      : node_id_(std::move(node_id)),
        parts_(std::move(parts)),
        clock_(clock),
        log_(std::move(log)) {}

  /// Notes that `tools` are what the node lists now. Returns what the registry is to
  /// trust: everything where nothing is pinned, nothing where the pins cannot be kept.
  [[nodiscard]] base::Task<pipeline::Trust> see(std::vector<Capability> tools);
  /// Whether an operator's word has come since. Then see() is to be asked again.
  [[nodiscard]] bool has_changed() const;

 private:
  void report(const pins::PinFile& file);

  const std::string node_id_;
  PinParts parts_;
  const base::Clock& clock_;
  const base::log::Logger log_;
  std::optional<pins::PinStore> store_;
  std::string stamp_;
  std::map<std::string, std::string> reported_;  // Id to status and pin.
};

/// What the file of a node's pins is named by, in the folder of all pins.
[[nodiscard]] std::string pin_name_of(std::string_view node_id);
/// The node of such a file's stem; nothing where it is none.
[[nodiscard]] std::optional<std::string> node_of_pin_name(std::string_view stem);

}  // namespace tool::federation
