#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/config/describe.h"
#include "base/config/settings_table.h"
#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/settings/settings.h"

namespace {

// Flags are settings of higher precedence than the environment.
struct Flags {
  std::string host, port, workers, preset;

  [[nodiscard]] std::vector<std::string> overrides() const {
    std::vector<std::string> list;
    auto add = [&](const char* name, const std::string& value) {
      if (!value.empty()) list.push_back(std::string("LAKEPROXY_") + name + "=" + value);
    };
    add("HOST", host);
    add("PORT", port);
    add("WORKERS", workers);
    add("PRESET", preset);
    return list;
  }
};

void add_flags(CLI::App& command, Flags& flags) {
  command.add_option("--host", flags.host, "address to listen on (LAKEPROXY_HOST)");
  command.add_option("--port", flags.port, "port to listen on (LAKEPROXY_PORT)");
  command.add_option("--workers", flags.workers,
                     "event loops, each with its own thread; 0 for one on each core");
  command.add_option("--preset", flags.preset, "default or high-throughput");
}

base::config::Places places(const Flags& flags) {
  return {flags.overrides(), base::config::process_environment(), std::filesystem::current_path()};
}

int with_settings(const Flags& flags,
                  const std::function<int(const lake::settings::Settings&)>& run) {
  auto settings = lake::settings::load(places(flags));
  if (!settings) {
    fmt::print(stderr, "{}\n", settings.error().message());
    return 2;
  }
  return run(*settings);
}

void add_gc_options(CLI::App& command, lake::app::GcOptions& options) {
  auto* remove = command.add_flag_callback(
      "--remove", [&options] { options.work = lake::app::GcWork::kRemove; },
      "remove the orphans that are shown");
  command.add_flag_callback(
             "--dry-run", [] {}, "only show the orphans, as without --remove")
      ->excludes(remove);
  command
      .add_flag_callback(
          "--take-over", [&options] { options.work = lake::app::GcWork::kTakeOver; },
          "only make this database the one that may remove objects under the prefix")
      ->excludes(remove);
  command
      .add_option("--older-than", options.older_than,
                  "take objects that nothing has needed for so long: 90s, 12h, 3d")
      ->default_val("3d");
  command.add_option("--catalog", options.catalog, "a registered catalog; else the default one");
  command.add_flag("--json", options.json, "one JSON document on stdout");
  command.footer(
      "Orphans are objects under the catalog's prefix that no snapshot of the lake, no scheduled "
      "deletion and\nno published metadata names. Each is shown with its size in bytes, then their "
      "number and sum.\nWith --remove they are removed, and purges that broke off are "
      "finished first; this is refused where\nanother database owns the prefix, or an orphan is "
      "newer than what the database knows. Ends with 0 when all went well, "
      "with 1 when something\nfailed, with 2 when an option or setting is wrong.");
}

// What main() calls of a subcommand that was given; nothing where none of them was.
struct LakeCommands {
  CLI::App* create = nullptr;
  CLI::App* check = nullptr;
  CLI::App* migrate = nullptr;
  lake::app::LakeCommand options;
};

void add_lake_commands(CLI::App& app, LakeCommands& commands) {
  auto* lake = app.add_subcommand("lake", "make, look at or migrate the default catalog's lake");
  lake->require_subcommand(1);
  commands.create = lake->add_subcommand("create", "make an empty lake, where there is none");
  commands.create
      ->add_option("--format", commands.options.format,
                   "the version of DuckLake: 1.0, or 1.1, which DuckDB 2.0 alone attaches")
      ->default_val("1.0");
  commands.check = lake->add_subcommand(
      "check", "show the lake's version, which DuckDB may attach it, and what is wrong with it");
  commands.migrate = lake->add_subcommand(
      "migrate", "give the lake another version of DuckLake; there is no way back");
  commands.migrate->add_option("--to", commands.options.format, "1.1")->required();
  commands.migrate->add_flag("--there-is-no-way-back", commands.options.confirmed,
                             "make a dump first, and stop all servers and clients");
}

int run_lake_command(const LakeCommands& commands, const Flags& flags) {
  return with_settings(flags, [&](const auto& settings) {
    if (commands.create->parsed()) return lake::app::create_lake(settings, commands.options);
    if (commands.check->parsed()) return lake::app::check_lake(settings);
    return lake::app::migrate_lake(settings, commands.options);
  });
}

CLI::App* add_init(CLI::App& app, lake::app::InitOptions& options) {
  auto* init = app.add_subcommand("init", "make the first administrator of a fresh install");
  init->add_option("--folder", options.folder, "where the server will start")->default_val(".");
  init->add_option("--client", options.client, "the administrator's id")->default_val("admin");
  init->footer(
      "Makes clients.json with the hash of a new secret, and adds to .env the settings that read "
      "it and the secret\nthat tokens are signed with. Prints the administrator's id and secret, "
      "once, as clients take them.");
  return init;
}

CLI::App* add_audit(CLI::App& app, lake::app::AuditCommand& options) {
  auto* audit = app.add_subcommand("audit", "check the audit trail");
  audit->require_subcommand(1);
  auto* verify = audit->add_subcommand(
      "verify", "check the hashes of all records, and name the first wrong one");
  verify->add_option("--catalog", options.catalog, "a registered catalog; else the default one");
  verify->add_option("--noted", options.noted,
                     "the newest record of an earlier check, as that has printed it: it must still "
                     "be there");
  return verify;
}

int show(const Flags& flags) {
  auto table = lake::settings::make_table();
  auto values = base::config::load(table, places(flags));
  if (!values) {
    fmt::print(stderr, "{}\n", values.error().message());
    return 2;
  }
  fmt::print("{}", base::config::show_settings(table, *values));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("An Iceberg REST catalog over a DuckLake.", "lakeproxy");
  app.set_version_flag("--version", "lakeproxy " LAKEPROXY_VERSION);
  app.require_subcommand(1);
  Flags flags;
  auto* serve = app.add_subcommand("serve", "serve the catalog until a signal ends it");
  add_flags(*serve, flags);
  auto* check = app.add_subcommand("check", "validate the settings and try the connections");
  add_flags(*check, flags);
  auto* gc = app.add_subcommand("gc", "show, or remove, objects that nothing needs any more");
  lake::app::GcOptions gc_options;
  add_gc_options(*gc, gc_options);
  auto* policy = app.add_subcommand(
      "bucket-policy", "show, or apply, the bucket policy that cuts static keys to scopes");
  add_flags(*policy, flags);
  bool apply_policy = false;
  policy->add_flag("--apply", apply_policy, "write it to the bucket");
  LakeCommands lake_commands;
  add_lake_commands(app, lake_commands);
  lake::app::InitOptions init_options;
  auto* init = add_init(app, init_options);
  lake::app::AuditCommand audit_options;
  auto* verify_audit = add_audit(app, audit_options);
  auto* settings = app.add_subcommand("settings", "show the settings in force, or document them");
  bool markdown = false;
  settings->add_flag("--markdown", markdown, "print the documentation of all settings");
  CLI11_PARSE(app, argc, argv);

  if (serve->parsed()) {
    return with_settings(flags, [](const auto& values) { return lake::app::serve(values); });
  }
  if (check->parsed()) return with_settings(flags, lake::app::check);
  if (init->parsed()) return lake::app::init(init_options);
  if (verify_audit->parsed()) {
    return with_settings(
        flags, [&](const auto& values) { return lake::app::verify_audit(values, audit_options); });
  }
  if (app.got_subcommand("lake")) return run_lake_command(lake_commands, flags);
  if (policy->parsed()) {
    return with_settings(flags, [&](const auto& settings) {
      return lake::app::bucket_policy(
          settings, apply_policy ? lake::app::PolicyWork::kApply : lake::app::PolicyWork::kShow);
    });
  }
  if (gc->parsed()) {
    return with_settings(flags,
                         [&](const auto& settings) { return lake::app::gc(settings, gc_options); });
  }
  if (markdown) {
    fmt::print("{}", base::config::settings_markdown(lake::settings::make_table(),
                                                     "Settings of lakeproxy"));
    return 0;
  }
  return show(flags);
}
