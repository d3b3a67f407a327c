#pragma once

// The tool service as an object: a program starts it from a configuration, and
// it refuses one that is not safe, wherever that configuration came from.
// Source: specification, sections 1 and 2.

#include <cstdint>
#include <memory>

#include "base/config/settings_table.h"
#include "base/core/result.h"
#include "base/log/logger.h"
#include "toolserver/settings/settings.h"

namespace tool::app {

/// Used from one thread, which is none of its own.
class SecureServer {
 public:
  /// Validates `config`, opens the audit trail and the connectors, and listens.
  /// Errors: kInvalid  the configuration is not safe (one line for each fault),
  ///         or a key, file or connector cannot be used; kCorrupt  the audit
  ///         trail is broken; kConflict  another process writes to it;
  ///         kUnavailable  the address or the trail's folder cannot be used.
  [[nodiscard]] static base::Result<std::unique_ptr<SecureServer>> start(
      settings::SecureConfig config);
  /// As stop().
  ~SecureServer();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] base::log::Logger log() const;

  /// Puts a new configuration in force for connections from then on: all of it
  /// or nothing. Settings that cannot change meanwhile keep their values.
  /// Errors: kInvalid  the new one is refused; the old one stays in force.
  [[nodiscard]] base::Result<settings::Reloaded> reload(const base::config::Places& places);

  /// Takes no more connections and requests, lets running calls end for the
  /// drain time of the configuration, then cuts them. Blocks.
  void stop();

 private:
  class Parts;
  explicit SecureServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tool::app
