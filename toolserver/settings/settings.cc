#include "toolserver/settings/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/config/describe.h"
#include "toolserver/definition/read_definitions.h"
#include "toolserver/settings/rows.h"
#include "toolserver/settings/secret_strength.h"
#include "toolserver/settings/text_rules.h"
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
  if (finding.setting == kBridges) return fmt::format("{}: {}", kBridges, finding.rule);
  std::string name = base::config::name_of_path(finding.setting);
  const std::string& source = values.source(name);
  if (source.ends_with(fmt::format(":{}", finding.setting))) {
    return fmt::format("{}: {}", source, finding.rule);
  }
  return fmt::format("{}: {}: {}", source, finding.setting, finding.rule);
}

// A service that is configured by its environment needs no file.
bool names_settings(const std::vector<std::string>& environment) {
  return std::ranges::any_of(environment,
                             [](std::string_view entry) { return entry.starts_with("SCP_"); });
}

// Most often the reason for all that follows.
std::string no_file_line(const base::config::Places& places) {
  return fmt::format("no configuration file found in {}: looked for {}", places.folder.string(),
                     fmt::join(make_table().default_files(), ", "));
}

Findings all_findings(const SecureConfig& config, Role role) {
  Findings out = validate(config, role);
  for (auto& finding : check_files(config, role)) out.push_back(std::move(finding));
  return out;
}

// A shorter one could not be told from other text, and so not be kept out of answers.
constexpr std::size_t kShortestToolSecret = 8;

std::string_view secret_rule(std::string_view secret) {
  if (secret.size() < kShortestToolSecret) return "must have 8 characters or more";
  if (!known_weakness_of(secret)) return "";
  return "must not be a placeholder or a published value";
}

base::json::Object open_section(const base::config::LoadReport& report, std::string_view name) {
  const auto* section = report.open.if_contains(name);
  return section == nullptr ? base::json::Object() : section->get_object();
}

// What [bridges.NAME] says becomes `config.bridges`; its faults go to `report`.
void take_bridges(SecureConfig& config, base::config::LoadReport& report,
                  const base::config::Places& places) {
  auto read = read_bridges(open_section(report, kBridges), places.folder, secret_rule);
  for (const auto& fault : read.faults) {
    report.errors.push_back(fmt::format("{}:{}", report.open_source, fault));
  }
  for (auto& file : read.files) report.files.push_back(std::move(file));
  config.bridges = std::move(read.bridges);
}

// What [tools.NAME] says becomes `config.tools`; its faults go to `report`.
void take_tools(SecureConfig& config, base::config::LoadReport& report,
                const base::config::Places& places) {
  auto read = definition::read_definitions(open_section(report, definition::kSpace),
                                           {places.folder, places.environment, secret_rule});
  for (const auto& fault : read.faults) {
    report.errors.push_back(fmt::format("{}:{}", report.open_source, fault));
  }
  for (auto& file : read.files) report.files.push_back(std::move(file));
  config.tools = std::move(read.tools);
}

// The machine's name as far as it can be that of a node. One machine is all that
// mode simple is for.
std::string host_name() {
  std::array<char, 65> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  std::string text(name.data());
  text.resize(std::min<std::size_t>(text.size(), 64));
  return name_rule(text).empty() ? text : "localhost";
}

}  // namespace

std::vector<Row> make_rows() {
  std::vector<Row> all;
  for (auto* rows : {core_rows, security_rows, cluster_rows, limit_rows, ingress_rows, admin_rows,
                     guard_rows, service_rows}) {
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
           .root_section = "core",
           .access = base::config::FileAccess::kChecked,
           .open_sections = {std::string(definition::kSpace), std::string(kBridges)}}};
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
  if (config.core.mode == Mode::kSimple && config.core.node_id.empty()) {
    config.core.node_id = host_name();
  }
  resolve_paths(config, places.folder);
  if (role == Role::kServer) {
    take_tools(config, report, places);
    take_bridges(config, report, places);
  }
  // A setting that could not be read has a fault already, and after a file that
  // could not be read all that is missing may stand in it.
  if (!report.unreadable) {
    Findings findings = all_findings(config, role);
    std::ranges::move(check_sources(config, report.files), std::back_inserter(findings));
    for (const auto& finding : findings) {
      if (report.in_doubt.contains(base::config::name_of_path(finding.setting))) continue;
      report.errors.push_back(line(finding, report.values));
    }
  }
  if (!report.errors.empty()) {
    if (!report.file_found && !names_settings(places.environment)) {
      report.errors.insert(report.errors.begin(), no_file_line(places));
    }
    return base::config::faults_error(report.errors);
  }
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
  if (!definition::are_equal(current.tools, out.config.tools)) {
    out.config.tools = current.tools;
    out.needs_restart.emplace_back(definition::kSpace);
  }
  if (!same(current.bridges, out.config.bridges)) {
    out.config.bridges = current.bridges;
    out.needs_restart.emplace_back(kBridges);
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
