#pragma once

// The tools that MCP's conformance suite calls by name, as tools of the service:
// each call of one passes the whole pipeline.
// Source: @modelcontextprotocol/conformance 0.2.0-alpha.12, server scenarios.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "toolserver/connectors/connector.h"
#include "toolserver/mcp_ingress/changes.h"

namespace conformance {

/// The namespace of the tools, which clients do not see.
inline constexpr std::string_view kNamespace = "fixture";

/// 70 bytes of a picture and 40 of a sound, the smallest of their kinds.
[[nodiscard]] std::string png();
[[nodiscard]] std::string wav();

class FixtureTools final : public tool::connectors::Connector {
 public:
  FixtureTools();

  [[nodiscard]] std::vector<tool::Capability> capabilities() const override;
  [[nodiscard]] base::Task<tool::Outcome<tool::ToolResult>> invoke(
      tool::Approved<tool::Invocation> call, tool::Progress progress) override;

  /// What the tools that change lists call. Set before the first call.
  std::function<void(const tool::mcp_ingress::Change&)> tell;

  struct Asked {
    const tool::Invocation& call;
    const tool::Progress& progress;
  };
  using Run = std::function<tool::Outcome<tool::ToolResult>(const Asked&)>;
  using Pause = std::function<std::chrono::milliseconds(const Asked&)>;

 private:
  struct Fixture {
    std::string description;
    base::json::Object input_schema;
    Run run;
    Pause pause = {};  ///< Before it runs; none where it is empty.
  };
  void add_job(std::string name, std::string description, Pause pause, Run run,
               base::json::Object properties = {});
  void add(std::string name, std::string description, Run run, base::json::Object properties = {});
  void add_contents();
  void add_notes();
  void add_questions();
  void add_rounds();
  void add_changes();
  void add_jobs();

  std::map<std::string, Fixture> fixtures_;
};

}  // namespace conformance
