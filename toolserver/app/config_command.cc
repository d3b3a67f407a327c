#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <variant>

#include "toolserver/app/command.h"
#include "toolserver/app/connectors_setup.h"
#include "toolserver/isolate/launch.h"
#include "toolserver/settings/settings.h"

namespace tool::app {
namespace {

settings::Role role_of(const ConfigCommand& command) {
  return command.client ? settings::Role::kClient : settings::Role::kServer;
}

// What this kernel has around the processes of connectors; false where the
// configuration demands more.
bool tell_walls(const settings::SecureConfig& config) {
  auto missing = isolate::missing_walls();
  if (!missing) {
    fmt::print(stderr, "walls: {}\n", missing.error().message());
    return false;
  }
  if (missing->empty()) {
    fmt::print("walls: all\n");
    return true;
  }
  bool is_demanded = config.connectors.require_walls;
  fmt::print(is_demanded ? stderr : stdout, "{}: this kernel lacks {}\n",
             is_demanded ? "connectors.require_walls" : "warning: walls",
             fmt::join(*missing, ", "));
  return !is_demanded;
}

}  // namespace

// What stands in a process's arguments can be seen by everybody on the machine.
void ConfigFlags::warn_of_secrets() const {
  auto table = settings::make_table();
  for (const auto& set : sets) {
    std::string name = set.substr(0, set.find('='));
    if (!name.starts_with(table.prefix())) continue;
    const auto* setting = table.find(std::string_view(name).substr(table.prefix().size()));
    if (setting == nullptr || !std::holds_alternative<base::config::SecretType>(setting->type)) {
      continue;
    }
    fmt::print(stderr, "warning: --set {}: other users of this machine can see it; use {}_FILE\n",
               name, name);
  }
}

base::config::Places ConfigFlags::places() const {
  base::config::Places places{sets, base::config::process_environment(),
                              std::filesystem::current_path()};
  if (!file.empty()) places.overrides.push_back("SCP_CONFIG_FILE=" + file);
  if (!server_key.empty()) {
    places.overrides.push_back("SCP_SECURITY_SERVER_KEYS=" + server_key);
  }
  return places;
}

int check_config(const ConfigFlags& flags, const ConfigCommand& command) {
  auto loaded = settings::load(flags.places(), role_of(command));
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return 2;
  }
  if (auto faults = schema_faults(loaded->config); !faults.empty()) {
    fmt::print(stderr, "{}\n", fmt::join(faults, "\n"));
    return 2;
  }
  fmt::print("{}\n", settings::describe(loaded->config, role_of(command)));
  if (command.client || !loaded->config.connectors.sql.enabled) return 0;
  return tell_walls(loaded->config) ? 0 : 2;
}

int show_config(const ConfigFlags& flags, const ConfigCommand& command) {
  auto loaded = settings::load(flags.places(), role_of(command));
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return 2;
  }
  fmt::print("{}", settings::show(*loaded));
  return 0;
}

int document_config() {
  fmt::print("{}", settings::markdown());
  return 0;
}

}  // namespace tool::app
