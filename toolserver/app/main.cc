#include <CLI/CLI.hpp>
#include <functional>

#include "toolserver/app/command.h"

namespace {

using namespace tool::app;  // NOLINT: this file is the program's table of contents.

// What each subcommand sets in motion, chosen by the one that was parsed.
using Action = std::function<int()>;

void add_config(CLI::App& command, ConfigFlags& flags) {
  command.add_option("--config", flags.file,
                     "configuration file: .toml, .yaml or .env (SCP_CONFIG_FILE)");
  command.add_option("--set", flags.sets, "a setting, SCP_NAME=value; may be given several times")
      ->allow_extra_args(false);
}

// Of a subcommand that connects to a service.
void add_client_config(CLI::App& command, ConfigFlags& flags) {
  add_config(command, flags);
  command.add_option("--server-key", flags.server_key,
                     "thumbprint or PEM file: the key that the server must prove itself by");
}

void add_mcp(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* command = app.add_subcommand(
      "mcp", "serve MCP on standard input and output, as a client of the service");
  auto flags = std::make_shared<McpFlags>();
  command
      ->add_option("--tools", flags->tools,
                   "all, or search: three tools that find, describe and call the others")
      ->check(CLI::IsMember({"all", "search"}));
  add_client_config(*command, config);
  command->callback(
      [&config, &action, flags] { action = [&, flags] { return serve_mcp(config, *flags); }; });
}

void add_call(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* command = app.add_subcommand("call", "call a tool and print what it answers");
  auto flags = std::make_shared<CallFlags>();
  command->add_option("tool", flags->tool, "the tool, such as sql.query")->required();
  command->add_option("arguments", flags->arguments,
                      "name=value; what is no text for the tool is read as JSON");
  command->add_option("--json", flags->json, "all arguments as one JSON object");
  command->add_option("--deadline-ms", flags->deadline_ms, "time for the call, 1 to 300000");
  command->add_option(
      "--idempotency-key", flags->idempotency_key,
      "the call is done once under this key, and repeated when its connection is lost");
  command->add_flag("--dry-run", flags->dry_run, "make every check, but do not run the tool");
  add_client_config(*command, config);
  command->callback(
      [&config, &action, flags] { action = [&, flags] { return call(config, *flags); }; });
}

void add_list(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* command = app.add_subcommand("list", "list the tools that may be called");
  auto flags = std::make_shared<ListFlags>();
  command->add_flag("--json", flags->json, "whole capability records, one on a line");
  add_client_config(*command, config);
  command->callback(
      [&config, &action, flags] { action = [&, flags] { return list(config, *flags); }; });
}

void add_flow(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* flow = app.add_subcommand("flow", "run workflows: several calls of tools as one");
  flow->require_subcommand(1);
  auto flags = std::make_shared<FlowFlags>();
  auto* run = flow->add_subcommand("run", "run a workflow, or go on with a run");
  run->add_option("what", flags->what, "file of a workflow, or id of a run")->required();
  run->add_option("--input", flags->input, "what the workflow takes, as one JSON object");
  run->add_option("--run", flags->run, "id of the new run, a ULID; one is made when left out");
  auto* get = flow->add_subcommand("get", "show how far a run is");
  auto* cancel = flow->add_subcommand("cancel", "take a run back: what is done is undone");
  for (auto* one : {get, cancel}) one->add_option("run", flags->what, "id of the run")->required();
  struct One {
    CLI::App* command;
    int (*act)(const ConfigFlags&, const FlowFlags&);
  };
  for (const auto& one : {One{run, run_flow}, One{get, get_flow}, One{cancel, cancel_flow}}) {
    add_config(*one.command, config);
    one.command->callback([&config, &action, flags, act = one.act] {
      action = [&config, flags, act] { return act(config, *flags); };
    });
  }
}

void add_sessions(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* sessions = app.add_subcommand("sessions", "see and end the sessions of a running service");
  sessions->require_subcommand(1);
  auto* list = sessions->add_subcommand("list", "list the open sessions (scope admin:session)");
  auto list_flags = std::make_shared<ListFlags>();
  list->add_flag("--json", list_flags->json, "whole records, one on a line");
  add_client_config(*list, config);
  list->callback([&config, &action, list_flags] {
    action = [&, list_flags] { return list_sessions(config, *list_flags); };
  });
  auto* end = sessions->add_subcommand("end", "end sessions (scope admin:session)");
  auto end_flags = std::make_shared<EndFlags>();
  auto* which = end->add_option_group("which");
  which->add_option("session", end_flags->session, "id of the session");
  which->add_option("--subject", end_flags->subject, "all sessions of this subject");
  which->require_option(1);
  add_client_config(*end, config);
  end->callback([&config, &action, end_flags] {
    action = [&, end_flags] { return end_sessions(config, *end_flags); };
  });
}

void add_consents(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* consents =
      app.add_subcommand("consents", "see and take back what was agreed to for more than one call");
  consents->require_subcommand(1);
  auto* list = consents->add_subcommand("list", "list the approvals (scope admin:consent)");
  auto list_flags = std::make_shared<ListFlags>();
  list->add_flag("--json", list_flags->json, "whole records, one on a line");
  add_config(*list, config);
  list->callback([&config, &action, list_flags] {
    action = [&, list_flags] { return list_consents(config, *list_flags); };
  });
  auto* revoke = consents->add_subcommand("revoke", "take approvals back (scope admin:consent)");
  auto revoke_flags = std::make_shared<RevokeFlags>();
  auto* which = revoke->add_option_group("which");
  which->add_option("id", revoke_flags->id, "number of the approval in the list");
  which->add_option("--subject", revoke_flags->subject, "all approvals of this subject");
  which->require_option(1);
  add_config(*revoke, config);
  revoke->callback([&config, &action, revoke_flags] {
    action = [&, revoke_flags] { return revoke_consents(config, *revoke_flags); };
  });
}

void add_init(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("init", "write a configuration that works, with new secrets");
  auto flags = std::make_shared<InitFlags>();
  command->add_option("folder", flags->folder, "where; the current folder when left out");
  command->callback([&action, flags] { action = [flags] { return init(*flags); }; });
}

void add_keys(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* keys = app.add_subcommand("keys", "make, list and revoke API keys that have names");
  keys->require_subcommand(1);
  auto flags = std::make_shared<KeyFlags>();
  auto* add = keys->add_subcommand("add", "make a key and print it this once");
  add->add_option("name", flags->name, "1 to 64 of a-z, 0-9 and '-'")->required();
  add->add_option("--scope", flags->scope, "what it may do, parted by spaces")->required();
  add->add_option("--details", flags->details,
                  "what narrows the scopes to some arguments: a JSON list, or @FILE");
  add->add_option("--until", flags->until, "its end: YYYY-MM-DD or never; 90 days by default");
  auto* revoke = keys->add_subcommand("revoke", "take a key back");
  revoke->add_option("name", flags->name, "the key")->required();
  auto* list = keys->add_subcommand("list", "list them, with their ends and scopes");
  auto list_flags = std::make_shared<ListFlags>();
  list->add_flag("--json", list_flags->json, "whole records, one on a line");
  for (auto* one : {add, revoke, list}) add_config(*one, config);
  add->callback(
      [&config, &action, flags] { action = [&, flags] { return add_key(config, *flags); }; });
  revoke->callback(
      [&config, &action, flags] { action = [&, flags] { return revoke_key(config, *flags); }; });
  list->callback([&config, &action, list_flags] {
    action = [&, list_flags] { return list_keys(config, *list_flags); };
  });
}

void add_keygen(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("keygen", "make secrets or a key pair");
  auto flags = std::make_shared<KeygenFlags>();
  command->add_option("kind", flags->kind, "secrets, rsa or ed25519")
      ->required()
      ->check(CLI::IsMember({"secrets", "rsa", "ed25519"}));
  command->add_option("--out", flags->out, "path of the key pair, without its ending");
  command->callback([&action, flags] { action = [flags] { return keygen(*flags); }; });
}

void add_mint(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* command = app.add_subcommand("mint-token", "sign a client token");
  auto flags = std::make_shared<MintFlags>();
  command->add_option("--subject", flags->subject, "whom the token stands for")->required();
  command->add_option("--scope", flags->scope, "scopes, parted by spaces")->required();
  command->add_option("--details", flags->details,
                      "what narrows the scopes to some arguments: a JSON list, or @FILE");
  command->add_option("--lifetime", flags->lifetime_seconds, "seconds, 1 to 86400");
  command->add_option("--holder", flags->holder,
                      "file: Ed25519 public key of the client, without whose private key the token "
                      "is of no use");
  add_config(*command, config);
  command->callback(
      [&config, &action, flags] { action = [&, flags] { return mint_token(config, *flags); }; });
}

void add_audit(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* audit = app.add_subcommand("audit", "work with the audit trail");
  audit->require_subcommand(1);
  auto* command = audit->add_subcommand("verify", "prove that nothing was changed or left out");
  auto flags = std::make_shared<VerifyFlags>();
  command->add_option("folder", flags->folder,
                      "folder of the trail, or one file of it (SCP_AUDIT_PATH)");
  command->add_option("--key", flags->keys,
                      "file: public key of the checkpoints, or an old secret");
  command->add_option("--receipt", flags->receipts,
                      "seq:hash, or the JSON of a receipt, which must be there");
  command->add_option("--witness", flags->witness,
                      "file with the checkpoints that a witness has, a line each");
  command->add_option("--accept-unsigned", flags->accepted,
                      "from-to: lines that a crash you know of left unsigned");
  command->add_option("--first-seq", flags->first_seq, "the line that the trail must begin with");
  command->add_flag("--json", flags->json, "the report as JSON");
  add_config(*command, config);
  command->callback(
      [&config, &action, flags] { action = [&, flags] { return verify_audit(config, *flags); }; });
  auto* receipt =
      audit->add_subcommand("receipt", "check the signature of receipts, without a trail");
  receipt->add_option("receipt", flags->receipts, "the JSON of a receipt")->required();
  receipt->add_option("--key", flags->keys, "file: public key of the checkpoints, or a secret");
  add_config(*receipt, config);
  receipt->callback([&config, &action, flags] {
    action = [&, flags] { return check_receipts(config, *flags); };
  });
}

void add_bridges(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* bridges = app.add_subcommand("bridges", "sign in at bridged servers");
  bridges->require_subcommand(1);
  struct One {
    const char* name;
    const char* help;
    int (*run)(const ConfigFlags&, const BridgeFlags&);
  };
  for (const auto& one :
       {One{"login", "sign in, in a browser, at the server of a bridge", login_bridge},
        One{"logout", "forget that login", logout_bridge}}) {
    auto* command = bridges->add_subcommand(one.name, one.help);
    auto flags = std::make_shared<BridgeFlags>();
    command->add_option("name", flags->name, "the bridge, as its section is named")->required();
    add_config(*command, config);
    command->callback([&config, &action, flags, run = one.run] {
      action = [&config, flags, run] { return run(config, *flags); };
    });
  }
}

void add_pins(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* pins = app.add_subcommand("pins", "look at and approve the tools of bridged servers");
  pins->require_subcommand(1);
  auto* list = pins->add_subcommand("list", "list them and how they stand to what was approved");
  auto list_flags = std::make_shared<ListFlags>();
  list->add_flag("--json", list_flags->json, "whole records, one on a line");
  add_config(*list, config);
  list->callback([&config, &action, list_flags] {
    action = [&, list_flags] { return list_pins(config, *list_flags); };
  });
  struct One {
    const char* name;
    const char* help;
    int (*act)(const ConfigFlags&, const PinFlags&);
  };
  for (const One& one :
       std::initializer_list<One>{{"diff", "show what differs from what was approved", diff_pin},
                                  {"approve", "approve a tool as it is now", approve_pin},
                                  {"revoke", "take an approval back", revoke_pin}}) {
    auto* command = pins->add_subcommand(one.name, one.help);
    auto flags = std::make_shared<PinFlags>();
    command->add_option("tool", flags->tool, "id of the tool, such as git.git_log")->required();
    if (one.act == approve_pin) {
      command->add_option("--pin", flags->pin, "only if it still has this pin");
    }
    add_config(*command, config);
    command->callback([&config, &action, flags, act = one.act] {
      action = [&, flags, act] { return act(config, *flags); };
    });
  }
}

void add_guard(CLI::App& app, Action& action) {
  auto* guard = app.add_subcommand("guard", "work with rule files");
  guard->require_subcommand(1);
  auto flags = std::make_shared<GuardFlags>();
  auto* test = guard->add_subcommand("test", "try every example of rule files");
  test->add_option("file", flags->files, "a rule file")->required();
  test->add_option("--key", flags->key, "file: public key that signed them");
  test->callback([&action, flags] { action = [flags] { return test_rules(*flags); }; });
  auto* sign = guard->add_subcommand("sign", "write the signature of each rule file to FILE.sig");
  sign->add_option("file", flags->files, "a rule file")->required();
  sign->add_option("--key", flags->key, "file: Ed25519 private key")->required();
  sign->callback([&action, flags] { action = [flags] { return sign_rule_files(*flags); }; });
}

void add_config_commands(CLI::App& app, ConfigFlags& config, Action& action) {
  auto* command = app.add_subcommand("config", "check, show or document the configuration");
  command->require_subcommand(1);
  auto flags = std::make_shared<ConfigCommand>();
  auto* check = command->add_subcommand("check", "say in one line each what is wrong");
  auto* show = command->add_subcommand("show", "show what is in force and where it comes from");
  auto* document = command->add_subcommand("document", "print the table of all settings");
  for (auto* one : {check, show}) {
    one->add_flag("--client", flags->client, "as a client would use it");
    add_config(*one, config);
  }
  check->callback(
      [&config, &action, flags] { action = [&, flags] { return check_config(config, *flags); }; });
  show->callback(
      [&config, &action, flags] { action = [&, flags] { return show_config(config, *flags); }; });
  document->callback([&action] { action = document_config; });
}

}  // namespace

int main(int argc, char** argv) {
  if (auto code = run_if_child(argc, argv)) return *code;
  CLI::App app("Tools for agents: authorised, encrypted, audited.", "securetool");
  app.set_version_flag("--version", "securetool " SECURETOOL_VERSION);
  app.require_subcommand(1);
  ConfigFlags config;
  Action action;
  auto* serve_command = app.add_subcommand("serve", "serve tools until a signal ends it");
  add_config(*serve_command, config);
  serve_command->callback([&] { action = [&] { return serve(config); }; });
  add_init(app, action);
  add_mcp(app, config, action);
  add_call(app, config, action);
  add_list(app, config, action);
  add_flow(app, config, action);
  add_sessions(app, config, action);
  add_consents(app, config, action);
  add_keys(app, config, action);
  add_keygen(app, action);
  add_mint(app, config, action);
  add_audit(app, config, action);
  add_pins(app, config, action);
  add_bridges(app, config, action);
  add_guard(app, action);
  add_config_commands(app, config, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  config.warn_of_secrets();
  return action();
}
