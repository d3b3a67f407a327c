#include "toolserver/settings/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/config/describe.h"
#include "toolserver/settings/rows.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

SecureConfig from_values(const base::config::SettingValues& values) {
  SecureConfig config;
  for (const auto& row : make_rows()) row.put(config, values.value(row.setting.name));
  return config;
}

void resolve_paths(SecureConfig& config, const Path& folder) {
  for (const auto& row : make_rows()) row.resolve(config, folder);
}

// "environment: security.replay_window: must be ...".
std::string line(const Finding& finding, const base::config::SettingValues& values) {
  std::string name = base::config::name_of_path(finding.setting);
  return fmt::format("{}: {}: {}", values.source(name), finding.setting, finding.rule);
}

Findings all_findings(const SecureConfig& config, Role role) {
  Findings out = validate(config, role);
  for (auto& finding : check_files(config, role)) out.push_back(std::move(finding));
  return out;
}

}  // namespace

std::vector<Row> make_rows() {
  std::vector<Row> all;
  for (auto* rows : {core_rows, security_rows, cluster_rows, limit_rows, service_rows}) {
    for (auto& row : rows()) all.push_back(std::move(row));
  }
  return all;
}

base::config::SettingsTable make_table() {
  std::vector<base::config::Setting> settings;
  for (auto& row : make_rows()) settings.push_back(std::move(row.setting));
  return {"SCP_",
          std::move(settings),
          {.nesting = base::config::Nesting::kNested,
           .file_stem = "securetool",
           .root_section = "core"}};
}

SecureConfig defaults() {
  SecureConfig config;
  for (const auto& row : make_rows()) {
    // The table's constructor has shown that defaults keep their own rules.
    if (auto value = base::config::parse_setting(row.setting, row.setting.default_text)) {
      row.put(config, *value);
    }
  }
  return config;
}

base::Result<Loaded> load(const base::config::Places& places, Role role) {
  auto report = base::config::read(make_table(), places);
  SecureConfig config = from_values(report.values);
  resolve_paths(config, places.folder);
  // A setting that could not be read has a fault already, and after a file that
  // could not be read all that is missing may stand in it.
  if (!report.unreadable) {
    for (const auto& finding : all_findings(config, role)) {
      if (report.in_doubt.contains(base::config::name_of_path(finding.setting))) continue;
      report.errors.push_back(line(finding, report.values));
    }
  }
  if (!report.errors.empty()) return base::config::faults_error(report.errors);
  return Loaded{std::move(config), std::move(report.values)};
}

std::string show(const Loaded& loaded) {
  return base::config::show_settings(make_table(), loaded.values);
}

base::Result<Reloaded> reload(const SecureConfig& current, const base::config::Places& places,
                              Role role) {
  ASSIGN_OR_RETURN(auto loaded, load(places, role));
  Reloaded out{.config = std::move(loaded.config), .changed = {}, .needs_restart = {}};
  for (const auto& row : make_rows()) {
    if (row.equal(current, out.config)) continue;
    if (row.change == Change::kLive) {
      out.changed.emplace_back(row.setting.path);
    } else {
      row.copy(out.config, current);
      out.needs_restart.emplace_back(row.setting.path);
    }
  }
  // The new whole is safe, and so was the old; a mixture need not be.
  std::vector<std::string> lines;
  for (const auto& finding : validate(out.config, role)) {
    lines.push_back(fmt::format("until a restart: {}: {}", finding.setting, finding.rule));
  }
  if (!lines.empty()) return base::config::faults_error(lines);
  return out;
}

}  // namespace tool::settings
