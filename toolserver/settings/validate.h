#pragma once

// A single value can be well-formed and the whole still be open: plaintext on
// a public address, a secret out of a tutorial, a mode without its keys. Server
// and client ask here before their first socket, and refuse to go on.
// Source: docs/wire-3.0.md, "Configuration".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "toolserver/settings/settings.h"

namespace tool::settings {

/// One thing that is wrong. `setting` is a path of the table, or "bridges"; `rule` says what
/// must be and never repeats a value.
struct Finding {
  std::string_view setting;
  std::string rule;
  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

/// Everything that forbids `config` for `role`, all at once; empty when it is
/// safe. The answer hangs on `config` alone; check_files() is the part that
/// looks at the disk.
[[nodiscard]] Findings validate(const SecureConfig& config, Role role);

/// The files and folders that `config` names, as far as `role` uses them: keys
/// there, readable, and private ones closed to others. Reads the disk.
[[nodiscard]] Findings check_files(const SecureConfig& config, Role role);

/// The files that the settings were read from, secrets' included, which no tool may see.
/// Reads the disk.
[[nodiscard]] Findings check_sources(const SecureConfig& config, const std::vector<Path>& files);

/// The broken rule, if any, of a file that holds a private key: a regular one
/// of this user or root, that nobody else can read but a group, or write.
[[nodiscard]] std::optional<std::string> private_key_rule(const Path& path);

// The parts of validate().
[[nodiscard]] Findings check_secrets(const SecureConfig& config, Role role);
[[nodiscard]] Findings check_transport(const SecureConfig& config, Role role);
[[nodiscard]] Findings check_mode(const SecureConfig& config, Role role);
[[nodiscard]] Findings check_cluster(const SecureConfig& config, Role role);
[[nodiscard]] Findings check_guard(const SecureConfig& config, Role role);
[[nodiscard]] Findings check_ranges(const SecureConfig& config, Role role);
[[nodiscard]] Findings check_ingress(const SecureConfig& config, Role role);
[[nodiscard]] Findings check_bridges(const SecureConfig& config, Role role);

/// The table behind check_mode(), for the documentation.
[[nodiscard]] std::string needs_markdown();

}  // namespace tool::settings
