#pragma once

// A setting has a line in the table and a member in SecureConfig. Stated in
// two places the two would drift apart, and a setting would be read and never
// used. A row states both, so that reading, comparing and keeping a value go
// over one list.

#include <string_view>
#include <vector>

#include "toolserver/settings/settings.h"

namespace tool::settings {

/// Whether a new value can be put in force in a running process.
enum class Change : std::uint8_t { kLive, kRestart };

struct Row {
  base::config::Setting setting;
  Change change = Change::kRestart;
  /// Puts a value that the setting's type has checked into its member.
  void (*put)(SecureConfig& config, const base::config::SettingValue& value) = nullptr;
  void (*copy)(SecureConfig& to, const SecureConfig& from) = nullptr;
  bool (*equal)(const SecureConfig& a, const SecureConfig& b) = nullptr;
  /// Lets a relative path begin at `folder`; other members stay.
  void (*resolve)(SecureConfig& config, const Path& folder) = nullptr;
};

/// All rows in the order of the documentation; CONFIG_FILE has none.
[[nodiscard]] std::vector<Row> make_rows();

// The parts of make_rows(), one file each for what is the protocol's and what
// is the service's.
[[nodiscard]] std::vector<Row> core_rows();
[[nodiscard]] std::vector<Row> security_rows();
[[nodiscard]] std::vector<Row> cluster_rows();
[[nodiscard]] std::vector<Row> limit_rows();
[[nodiscard]] std::vector<Row> ingress_rows();
[[nodiscard]] std::vector<Row> admin_rows();
[[nodiscard]] std::vector<Row> guard_rows();
[[nodiscard]] std::vector<Row> service_rows();

}  // namespace tool::settings
