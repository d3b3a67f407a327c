#include "toolserver/settings/bind.h"

// The ways in for MCP clients, and for people who administer the service.

namespace tool::settings {

using base::config::ChoiceType;
using base::config::DurationType;
using base::config::FlagType;
using base::config::IntegerType;
using base::config::TextType;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::string_view kNamespaceRule = "1 to 64 of a-z, 0-9, '_' and '-', the first a letter";

// Empty is allowed.
std::string_view namespace_rule(std::string_view text) {
  if (text.empty() || ToolId::parse(std::string(text) + ".x")) return "";
  return "must be 1 to 64 of a-z, 0-9, '_' and '-', the first a letter";
}

}  // namespace

std::vector<Row> ingress_rows() {
  Rows rows("MCP clients", Change::kRestart);
  rows.add("mcp.enabled", SETTINGS_MEMBER(mcp.enabled), FlagType{}, "0",
           "1 lets MCP clients in by Streamable HTTP on server.port, each request with its bearer "
           "token.")
      .add("mcp.path", SETTINGS_MEMBER(mcp.path), TextType{url_path_rule, kPathRule}, "/mcp",
           "Path of the MCP endpoint.")
      .add("mcp.minimum_version", SETTINGS_MEMBER(mcp.minimum_version),
           ChoiceType{{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}}, "2025-03-26",
           "Oldest revision of MCP that is served; 2026-07-28 serves no sessions.")
      .add("mcp.resource", SETTINGS_MEMBER(mcp.resource), TextType{}, "",
           "URL of the endpoint as clients know it, named in its OAuth metadata; made of "
           "server_url and mcp.path when not set.")
      .add("mcp.elicit_consent", SETTINGS_MEMBER(mcp.elicit_consent), FlagType{}, "0",
           "1 lets the user of an MCP client give consent in the client, where no hook is set.")
      .add("mcp.bare_namespace", SETTINGS_MEMBER(mcp.bare_namespace),
           TextType{namespace_rule, kNamespaceRule}, "",
           "Namespace whose tools MCP clients see by their names alone.")
      .add("mcp.search_above", SETTINGS_MEMBER(mcp.search_above), IntegerType{0, 100'000}, "0",
           "MCP clients whose caller may see more tools than this get search, describe and execute "
           "in their place, unless they ask for all; 0 gives them to those that ask.")
      .add("mcp.tasks", SETTINGS_MEMBER(mcp.tasks), IntegerType{0, 1'024}, "32",
           "Tasks of one principal that run at once; further calls are no tasks. 0 offers none.")
      .add("mcp.task_after", SETTINGS_MEMBER(mcp.task_after),
           DurationType{milliseconds(10), seconds(60)}, "1",
           "A call that takes longer is answered with a task, where its client knows tasks.")
      .add("mcp.task_time", SETTINGS_MEMBER(mcp.task_time), DurationType{seconds(1), hours(24)},
           "3600", "Longest time of a task; what it answered is kept as long again.");
  return std::move(rows).done();
}

std::vector<Row> admin_rows() {
  Rows rows("The page /admin", Change::kRestart);
  rows.add("admin.enabled", SETTINGS_MEMBER(admin.enabled), FlagType{}, "0",
           "1 serves a page at /admin of server.port, to this machine alone, for those with a "
           "scope admin:tools, admin:consent, admin:session or admin:audit.")
      .add("admin.consent", SETTINGS_MEMBER(admin.consent), FlagType{}, "0",
           "1 lets those with the scope admin:consent answer on the page what needs consent, in "
           "place of hooks.consent_url.");
  return std::move(rows).done();
}

}  // namespace tool::settings
