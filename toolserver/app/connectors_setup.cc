#include "toolserver/app/connectors_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/crypto/signing_key.h"
#include "base/jose/key_algorithm.h"
#include "toolserver/app/flows_setup.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/connectors/command/command_tool.h"
#include "toolserver/connectors/echo/echo_connector.h"
#include "toolserver/connectors/files/files_connector.h"
#include "toolserver/connectors/http/http_tool.h"
#include "toolserver/connectors/lake/lake_connector.h"
#include "toolserver/connectors/sql/sql_connector.h"
#include "toolserver/connectors/tool_set.h"
#include "toolserver/pipeline/schema.h"

namespace tool::app {
namespace {

connectors::SqlOptions sql_options(const settings::SqlConnector& settings, bool require_walls) {
  connectors::SqlOptions options;
  if (require_walls) options.demand = isolate::Demand::kAll;
  options.data_dir = settings.data_dir;
  options.enable_external_access = settings.enable_external_access;
  options.allow_raw_file_sql = settings.allow_raw_file_sql;
  options.memory_bytes = settings.memory_bytes;
  options.threads = static_cast<unsigned>(settings.threads);
  options.rows = settings.max_rows;
  options.bytes = settings.max_bytes;
  options.time = std::chrono::duration_cast<std::chrono::milliseconds>(settings.timeout);
  return options;
}

files::FilesOptions files_options(const settings::FilesConnector& settings) {
  files::FilesOptions options;
  options.root = settings.root;
  for (const auto& ending : settings.extensions) {
    options.extensions.push_back(ending.starts_with('.') ? ending.substr(1) : ending);
  }
  options.read_cap = settings.read_max_bytes;
  options.write_cap = settings.write_max_bytes;
  options.list_cap = settings.list_max_entries;
  if (settings.allow_write) {
    if (settings.quota_bytes > 0) options.quota = settings.quota_bytes;
    options.allow_write = files::Permission::kAllowed;
    options.allow_delete = files::Permission::kAllowed;
  }
  return options;
}

// Whose names the lake knows: of those who log in at a provider the provider's, else this node's.
std::string issuer_of(const settings::SecureConfig& config) {
  return config.core.mode == Mode::kEnterprise ? config.oauth2.issuer : config.core.node_id;
}

base::Result<lake::LakeOptions> lake_options(const settings::SecureConfig& config) {
  const settings::LakeConnector& settings = config.connectors.lake;
  ASSIGN_OR_RETURN(const std::string pem, read_file(settings.statement_key_path));
  auto key = base::crypto::SigningKey::from_pem(pem);
  if (!key) return std::move(key).error().with_context("connectors.lake.statement_key_path");
  const auto algorithm = base::jose::algorithm_for(key->type());
  ASSIGN_OR_RETURN(auto signer, base::jose::Signer::with_key(algorithm, *std::move(key)));
  ASSIGN_OR_RETURN(auto catalog, base::http::Origin::parse(settings.url));
  ASSIGN_OR_RETURN(auto store, base::http::Origin::parse(settings.store_url));
  lake::LakeOptions options{.catalog = std::move(catalog),
                            .prefix = settings.prefix,
                            .name = settings.name,
                            .client_id = settings.client_id,
                            .client_secret = settings.client_secret,
                            .signer = std::move(signer),
                            .store = std::move(store),
                            .path_style = settings.store_path_style,
                            .ca_file = settings.ca_cert_path,
                            .issuer = issuer_of(config),
                            .tables = settings.tables,
                            .scratch_dir = settings.scratch_dir};
  if (settings.provider_users) options.subjects = lake::Subjects::kUsers;
  options.file_bytes = settings.max_file_bytes;
  options.files = settings.max_files;
  options.memory_bytes = settings.memory_bytes;
  options.threads = static_cast<unsigned>(settings.threads);
  options.rows = settings.max_rows;
  options.bytes = settings.max_bytes;
  options.time = std::chrono::duration_cast<std::chrono::milliseconds>(settings.timeout);
  if (config.connectors.require_walls) options.demand = isolate::Demand::kAll;
  return options;
}

base::Result<std::shared_ptr<connectors::Connector>> tool_set(
    const std::vector<definition::ToolDefinition>& definitions) {
  std::vector<std::unique_ptr<connectors::Tool>> tools;
  for (const auto& one : definitions) {
    if (std::holds_alternative<definition::CommandWork>(one.work)) {
      tools.push_back(std::make_unique<command::CommandTool>(one));
    } else {
      ASSIGN_OR_RETURN(auto tool, http::HttpTool::create(one));
      tools.push_back(std::move(tool));
    }
  }
  return std::shared_ptr<connectors::Connector>(
      std::make_shared<connectors::ToolSet>(std::move(tools)));
}
constexpr auto kAllWalls =
    std::to_array<const char*>({isolate::kLandlock, isolate::kSeccomp, isolate::kNamespaces});

}  // namespace

WallWatch::WallWatch(base::log::Logger log, base::metrics::Registry& metrics)
    : log_(std::move(log)), metrics_(metrics) {}

void WallWatch::show(std::string_view connector, const isolate::PartEvent& event) {
  using Kind = isolate::PartEvent::Kind;
  std::string name(connector);
  if (event.kind == Kind::kStarted) {
    for (const char* wall : kAllWalls) {
      bool missing = std::ranges::find(event.missing, wall) != event.missing.end();
      metrics_
          .gauge("securetool_wall_missing",
                 "1 where the kernel lacks a wall around a connector's process.",
                 {{"connector", name}, {"wall", wall}})
          .set(missing ? 1 : 0);
    }
    if (!event.missing.empty()) {
      log_.warning(
          "the kernel lacks walls around a connector's process",
          {{"connector", name}, {"missing", fmt::format("{}", fmt::join(event.missing, " "))}});
    }
    return;
  }
  const char* how = event.kind == Kind::kKilled   ? "killed"
                    : event.kind == Kind::kFailed ? "failed"
                                                  : "ended";
  metrics_
      .counter("securetool_child_ends_total", "Processes of connectors that ended, by how.",
               {{"connector", name}, {"how", how}})
      .add();
  log_.warning("a connector's process ended; it begins again",
               {{"connector", name}, {"how", how}, {"reason", event.reason}});
}

base::Result<std::vector<std::shared_ptr<connectors::Connector>>> open_connectors(
    const settings::SecureConfig& config, base::BlockingPool& pool, const base::Clock& clock,
    base::Random& random, WallWatch& walls) {
  const settings::Connectors& settings = config.connectors;
  std::vector<std::shared_ptr<connectors::Connector>> opened;
  if (settings.echo.enabled) opened.push_back(std::make_shared<connectors::EchoConnector>());
  if (settings.sql.enabled) {
    auto on_event = [&walls](const isolate::PartEvent& event) { walls.show("sql", event); };
    ASSIGN_OR_RETURN(
        auto sql, connectors::SqlConnector::open(sql_options(settings.sql, settings.require_walls),
                                                 std::move(on_event)));
    opened.push_back(std::move(sql));
  }
  if (settings.lake.enabled) {
    auto on_event = [&walls](const isolate::PartEvent& event) { walls.show("lake", event); };
    ASSIGN_OR_RETURN(auto options, lake_options(config));
    ASSIGN_OR_RETURN(auto lake, lake::LakeConnector::open(std::move(options), pool, clock, random,
                                                          std::move(on_event)));
    opened.push_back(std::move(lake));
  }
  if (settings.files.enabled) {
    ASSIGN_OR_RETURN(auto files,
                     files::FilesConnector::open(files_options(settings.files), pool, random));
    opened.push_back(std::move(files));
  }
  if (!config.tools.empty()) {
    ASSIGN_OR_RETURN(auto own, tool_set(config.tools));
    opened.push_back(std::move(own));
  }
  return opened;
}

std::vector<std::string> schema_faults(const settings::SecureConfig& config) {
  std::vector<std::string> faults;
  for (const auto& tool : config.tools) {
    const Capability& capability = tool.capability;
    for (const auto* schema : {&capability.input_schema,
                               capability.output_schema ? &*capability.output_schema : nullptr}) {
      if (schema == nullptr) continue;
      auto compiled = pipeline::Schema::compile(*schema);
      if (compiled) continue;
      faults.push_back(fmt::format("{}: {}", capability.id.text(), compiled.error().message()));
    }
  }
  if (auto workflows = configured_workflows(config); !workflows) {
    faults.push_back(workflows.error().message());
  }
  return faults;
}

}  // namespace tool::app
