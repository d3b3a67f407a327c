#include "toolserver/settings/bind.h"

// What stands around a call: hooks, audit, connectors and the log.

namespace tool::settings {

using base::config::BytesType;
using base::config::DurationType;
using base::config::FlagType;
using base::config::IntegerType;
using base::config::ListType;
using base::config::SecretType;
using base::config::TextType;
using base::config::UrlType;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::vector<Row> hook_rows() {
  Rows rows("Hooks", Change::kLive);
  DurationType short_time{milliseconds(10), minutes(1)};
  rows.add("hooks.consent_url", SETTINGS_MEMBER(hooks.consent_url), UrlType{}, "",
           "Address that is asked for consent; without it a call that needs consent is denied.")
      .add("hooks.consent_timeout", SETTINGS_MEMBER(hooks.consent_timeout),
           DurationType{milliseconds(100), minutes(10)}, "60",
           "Time for the answer; then the call is denied.")
      .add("hooks.filter_url", SETTINGS_MEMBER(hooks.filter_url), UrlType{}, "",
           "Address that sees each output before the caller does.")
      .add("hooks.filter_timeout", SETTINGS_MEMBER(hooks.filter_timeout), short_time, "2",
           "Time for the filter's answer.")
      .add("hooks.fail_mode", SETTINGS_MEMBER(hooks.fail_mode), choice<FailMode>(), "closed",
           "Whether an output goes on when nobody listens at the filter's address, or no way "
           "leads there; after any other fault it never does.")
      .add("hooks.bearer_token", SETTINGS_MEMBER(hooks.bearer_token), SecretType{}, "",
           "Sent to both hooks as Authorization: Bearer.")
      .add("hooks.signing_secret", SETTINGS_MEMBER(hooks.signing_secret), SecretType{}, "",
           "Signs what is sent to both hooks, so that they know who asks.")
      .add("hooks.ca_cert_path", SETTINGS_MEMBER(hooks.ca_cert_path), TextType{}, "",
           "PEM file with the authorities of both hooks; the system's when not set.");
  return std::move(rows).done();
}

std::vector<Row> audit_rows() {
  Rows rows("Audit", Change::kRestart);
  rows.add("audit.path", SETTINGS_MEMBER(audit.path), TextType{}, "audit",
           "Folder of the audit trail; made when it is not there.")
      .add("audit.durability", SETTINGS_MEMBER(audit.durability), choice<AuditDurability>(),
           "written", "What a receipt outlives: written, the process; synced, a power cut.")
      .add("audit.on_failure", SETTINGS_MEMBER(audit.on_failure), choice<AuditFailure>(), "block",
           "Whether a call goes on when its record cannot be written.")
      .add("audit.checkpoint_key_path", SETTINGS_MEMBER(audit.checkpoint_key_path), TextType{}, "",
           "PEM file with the private key that signs checkpoints; without it a key derived from "
           "the secret does.")
      .add("audit.old_keys", SETTINGS_MEMBER(audit.old_keys), ListType{}, "",
           "Files with keys that signed this trail before: a public key in PEM, or a former "
           "secret_key as it was.")
      .add("audit.checkpoint_records", SETTINGS_MEMBER(audit.checkpoint_records),
           IntegerType{1, 1'000'000}, "1000",
           "Most records that stand without a signature; half of them ask for a checkpoint.")
      .add("audit.checkpoint_interval", SETTINGS_MEMBER(audit.checkpoint_interval),
           DurationType{milliseconds(100), hours(1)}, "10",
           "Time after which a checkpoint is written.")
      .add("audit.witness_url", SETTINGS_MEMBER(audit.witness_url), UrlType{}, "",
           "Address that gets each checkpoint, to keep it where this machine cannot change it.")
      .add("audit.min_free", SETTINGS_MEMBER(audit.min_free_bytes), BytesType{}, "64MiB",
           "Less free space on the trail's file system is an alarm in log and metrics.")
      .add(
          "audit.max_bytes", SETTINGS_MEMBER(audit.max_bytes), BytesType{}, "0",
          "Most bytes of the trail's files, an alarm at four fifths; then calls are refused. 0 for "
          "no limit.")
      .add("audit.reserve", SETTINGS_MEMBER(audit.reserve_bytes), BytesType{0, 1024 * kMiB}, "1MiB",
           "Space that is held back for the ends of calls that run when the disk is full.")
      .add("audit.log_arguments", SETTINGS_MEMBER(audit.log_arguments), FlagType{}, "0",
           "1 writes the arguments of calls in clear, whatever they hold.");
  return std::move(rows).done();
}

std::vector<Row> outcome_rows() {
  Rows rows("Outcomes", Change::kRestart);
  rows.add("outcomes.retention", SETTINGS_MEMBER(outcomes.retention),
           DurationType{minutes(1), hours(24 * 7)}, "3600",
           "Time after the end of a call for which its idempotency key stands and its answer is "
           "kept, in the folder outcomes in the audit trail's.")
      .add("outcomes.records", SETTINGS_MEMBER(outcomes.records), IntegerType{2, 1'000'000},
           "16384",
           "Calls with a key that are remembered, half of them of one principal; of those without "
           "as many.")
      .add("outcomes.bytes", SETTINGS_MEMBER(outcomes.bytes), BytesType{kMiB, 16 * 1024 * kMiB},
           "64MiB", "Bytes of all answers that are kept, in memory too.")
      .add("outcomes.answer_bytes", SETTINGS_MEMBER(outcomes.answer_bytes),
           BytesType{1024, 64 * kMiB}, "1MiB",
           "Largest answer that is kept; of a larger one only that the call ran.");
  return std::move(rows).done();
}

std::vector<Row> workflow_rows() {
  Rows rows("Workflows", Change::kLive);
  rows.add("workflows.folder", SETTINGS_MEMBER(workflows.folder), TextType{}, "",
           "Folder with workflow files, each of which is a tool flow.NAME.", Change::kRestart)
      .add("workflows.steps", SETTINGS_MEMBER(workflows.steps), IntegerType{1, 1'024}, "64",
           "Steps of one workflow.")
      .add("workflows.parallel", SETTINGS_MEMBER(workflows.parallel), IntegerType{1, 256}, "8",
           "Steps of one run that run at once; they count in limits.in_flight.")
      .add("workflows.time", SETTINGS_MEMBER(workflows.time),
           DurationType{milliseconds(10), hours(24 * 7)}, "3600", "Time of one run.")
      .add("workflows.bytes", SETTINGS_MEMBER(workflows.bytes), BytesType{1024, 256 * kMiB},
           "16MiB", "What all steps of one run may answer together.")
      .add("workflows.runs", SETTINGS_MEMBER(workflows.runs), IntegerType{2, 1'000'000}, "1024",
           "Runs that are kept, half of them of one principal, in the folder flows in the audit "
           "trail's.",
           Change::kRestart)
      .add("workflows.retention", SETTINGS_MEMBER(workflows.retention),
           DurationType{minutes(1), hours(24 * 30)}, "86400",
           "Time for which a run is kept after the last that happened in it.", Change::kRestart);
  return std::move(rows).done();
}

std::vector<Row> connector_rows() {
  Rows rows("Connectors", Change::kRestart);
  rows.add("connectors.require_walls", SETTINGS_MEMBER(connectors.require_walls), FlagType{}, "0",
           "1 refuses to start where the kernel lacks a wall around a connector's process.");
  return std::move(rows).done();
}

std::vector<Row> echo_rows() {
  Rows rows("Echo connector", Change::kRestart);
  rows.add("connectors.echo.enabled", SETTINGS_MEMBER(connectors.echo.enabled), FlagType{}, "0",
           "1 offers echo.say, which answers its argument: to try and to measure a connection.");
  return std::move(rows).done();
}

std::vector<Row> sql_rows() {
  Rows rows("SQL connector", Change::kRestart);
  rows.add("connectors.sql.enabled", SETTINGS_MEMBER(connectors.sql.enabled), FlagType{}, "0",
           "1 offers the SQL tools.")
      .add("connectors.sql.data_dir", SETTINGS_MEMBER(connectors.sql.data_dir), TextType{}, "",
           "The only folder that sanctioned loads read from.")
      .add("connectors.sql.enable_external_access",
           SETTINGS_MEMBER(connectors.sql.enable_external_access), FlagType{}, "0",
           "1 takes the engine's own fence around data_dir away; the screen stays.")
      .add("connectors.sql.allow_raw_file_sql", SETTINGS_MEMBER(connectors.sql.allow_raw_file_sql),
           FlagType{}, "0", "1 lets queries name files of data_dir.")
      .add("connectors.sql.memory", SETTINGS_MEMBER(connectors.sql.memory_bytes),
           BytesType{64 * kMiB, kMiB << 20}, "512MiB",
           "Memory of the engine; its process may ask for twice as much and 1 GiB.")
      .add("connectors.sql.threads", SETTINGS_MEMBER(connectors.sql.threads), IntegerType{1, 256},
           "2", "Threads of the engine.")
      .add("connectors.sql.max_rows", SETTINGS_MEMBER(connectors.sql.max_rows),
           IntegerType{1, 1'000'000}, "10000", "Rows of one result.")
      .add("connectors.sql.max_bytes", SETTINGS_MEMBER(connectors.sql.max_bytes),
           BytesType{1024, 256 * kMiB}, "8MiB", "Bytes of one result.")
      .add("connectors.sql.timeout", SETTINGS_MEMBER(connectors.sql.timeout),
           DurationType{milliseconds(10), minutes(5)}, "30", "Time of one statement.");
  return std::move(rows).done();
}

std::vector<Row> lake_rows() {
  Rows rows("Lake connector", Change::kRestart);
  rows.add("connectors.lake.enabled", SETTINGS_MEMBER(connectors.lake.enabled), FlagType{}, "0",
           "1 offers the lake tools.")
      .add("connectors.lake.url", SETTINGS_MEMBER(connectors.lake.url), UrlType{}, "",
           "Address of lakeproxy, without a path.")
      .add("connectors.lake.prefix", SETTINGS_MEMBER(connectors.lake.prefix), TextType{}, "lake",
           "The catalog, as it stands in the paths of its API.")
      .add("connectors.lake.name", SETTINGS_MEMBER(connectors.lake.name), TextType{}, "",
           "LAKEPROXY_OAUTH_ISSUER of the lake: statements are good for that one alone.")
      .add("connectors.lake.client_id", SETTINGS_MEMBER(connectors.lake.client_id), TextType{}, "",
           "This service's client at the lake.")
      .add("connectors.lake.client_secret", SETTINGS_MEMBER(connectors.lake.client_secret),
           SecretType{}, "", "Secret of connectors.lake.client_id.")
      .add("connectors.lake.statement_key_path",
           SETTINGS_MEMBER(connectors.lake.statement_key_path), TextType{}, "",
           "Private key that signs for whom the lake is asked; the lake has its public half in "
           "statement_keys of the client.")
      .add("connectors.lake.store_url", SETTINGS_MEMBER(connectors.lake.store_url), UrlType{}, "",
           "Address of the object store; the service fetches files from no other.")
      .add("connectors.lake.store_path_style", SETTINGS_MEMBER(connectors.lake.store_path_style),
           FlagType{}, "1", "0 where store_url names the bucket itself.")
      .add("connectors.lake.ca_cert_path", SETTINGS_MEMBER(connectors.lake.ca_cert_path),
           TextType{}, "", "PEM file with the authorities of both; the system's when not set.")
      .add("connectors.lake.provider_users", SETTINGS_MEMBER(connectors.lake.provider_users),
           FlagType{}, "0",
           "1: callers are users of oauth2.issuer, whom the lake knows as its "
           "LAKEPROXY_OIDC_ISSUER; "
           "0: clients of the lake.")
      .add("connectors.lake.tables", SETTINGS_MEMBER(connectors.lake.tables),
           ListType{table_rule, kTableRule}, "",
           "Tables that callers may reach, each NAMESPACE.TABLE; all that the lake lets them when "
           "not set.")
      .add("connectors.lake.scratch_dir", SETTINGS_MEMBER(connectors.lake.scratch_dir), TextType{},
           "",
           "Folder for the files of a query while it runs, closed to others and of this service "
           "alone.")
      .add("connectors.lake.max_file_bytes", SETTINGS_MEMBER(connectors.lake.max_file_bytes),
           BytesType{kMiB, kMiB << 20}, "1GiB", "Bytes that are fetched for one query.")
      .add("connectors.lake.max_files", SETTINGS_MEMBER(connectors.lake.max_files),
           IntegerType{1, 100'000}, "2000", "Files of one table.")
      .add("connectors.lake.memory", SETTINGS_MEMBER(connectors.lake.memory_bytes),
           BytesType{64 * kMiB, kMiB << 20}, "512MiB",
           "Memory of one query's engine; its process may ask for twice as much and 1 GiB.")
      .add("connectors.lake.threads", SETTINGS_MEMBER(connectors.lake.threads), IntegerType{1, 256},
           "2", "Threads of one query.")
      .add("connectors.lake.max_rows", SETTINGS_MEMBER(connectors.lake.max_rows),
           IntegerType{1, 1'000'000}, "10000", "Rows of one result.")
      .add("connectors.lake.max_bytes", SETTINGS_MEMBER(connectors.lake.max_bytes),
           BytesType{1024, 256 * kMiB}, "8MiB", "Bytes of one result.")
      .add("connectors.lake.timeout", SETTINGS_MEMBER(connectors.lake.timeout),
           DurationType{milliseconds(10), minutes(5)}, "60",
           "Time of one call, its files included.");
  return std::move(rows).done();
}

std::vector<Row> files_rows() {
  Rows rows("Files connector", Change::kRestart);
  rows.add("connectors.files.enabled", SETTINGS_MEMBER(connectors.files.enabled), FlagType{}, "0",
           "1 offers the file tools.")
      .add("connectors.files.root", SETTINGS_MEMBER(connectors.files.root), TextType{}, "",
           "The only folder that the tools see.")
      .add("connectors.files.extensions", SETTINGS_MEMBER(connectors.files.extensions),
           ListType{extension_rule, kExtensionRule}, ".txt,.md,.csv,.json",
           "Endings of file names that are read, listed, written and deleted; others do not exist.")
      .add("connectors.files.read_max", SETTINGS_MEMBER(connectors.files.read_max_bytes),
           BytesType{1, 1024 * kMiB}, "1MiB",
           "Bytes of a file that one call reads; longer files are read in ranges.")
      .add("connectors.files.write_max", SETTINGS_MEMBER(connectors.files.write_max_bytes),
           BytesType{1, 1024 * kMiB}, "512KiB", "Largest file that is written.")
      .add("connectors.files.quota", SETTINGS_MEMBER(connectors.files.quota_bytes),
           BytesType{0, kMiB << 20}, "1GiB",
           "Bytes of all files below root that writing may reach; 0 sets no bound.")
      .add("connectors.files.list_max", SETTINGS_MEMBER(connectors.files.list_max_entries),
           IntegerType{1, 1'000'000}, "10000", "Entries of one listing.")
      .add("connectors.files.allow_write", SETTINGS_MEMBER(connectors.files.allow_write),
           FlagType{}, "0", "1 offers the tools that write and delete.");
  return std::move(rows).done();
}

std::vector<Row> pin_rows() {
  Rows rows("Pins and logins of bridges", Change::kRestart);
  rows.add("pins.path", SETTINGS_MEMBER(pins.path), TextType{}, "pins",
           "Folder with what bridged servers offer and what of it was approved; made when there is "
           "a bridge and it is not there.")
      .add("logins.path", SETTINGS_MEMBER(logins.path), TextType{}, "logins",
           "Folder with the logins at bridged servers, closed to others; made when a bridge has a "
           "login and it is not there.");
  return std::move(rows).done();
}

std::vector<Row> log_rows() {
  Rows rows("Log", Change::kRestart);
  rows.add("log.format", SETTINGS_MEMBER(log.format), choice<base::log::Format>(), "json",
           "Form of the lines on stderr.")
      .add("log.level", SETTINGS_MEMBER(log.level), choice<base::log::Level>(), "info",
           "The least important lines that are written.", Change::kLive);
  return std::move(rows).done();
}

}  // namespace

std::vector<Row> service_rows() {
  std::vector<Row> out;
  for (auto* part : {hook_rows, audit_rows, outcome_rows, workflow_rows, connector_rows, echo_rows,
                     sql_rows, lake_rows, files_rows, pin_rows, log_rows}) {
    for (auto& row : part()) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace tool::settings
