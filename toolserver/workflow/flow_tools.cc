#include "toolserver/workflow/flow_tools.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "toolserver/connectors/function_tool.h"
#include "toolserver/pipeline/schema.h"

namespace tool::workflow {
namespace {

namespace fs = std::filesystem;
namespace json = base::json;
using base::ErrorKind;
using base::fail;

constexpr std::size_t kFiles = 256;
constexpr std::size_t kFileBytes = 1 << 20;
constexpr std::string_view kSpace = "flow.";

class FlowTool final : public connectors::Tool {
 public:
  FlowTool(NamedWorkflow named, std::function<Flows&()> flows)
      : source_(named.workflow.source),
        takes_input_(named.workflow.input.has_value()),
        capability_(capability_of(std::move(named))),
        flows_(std::move(flows)) {}

  [[nodiscard]] const Capability& capability() const override { return capability_; }

  [[nodiscard]] base::Task<Outcome<ToolResult>> run(Approved<Invocation> call,
                                                    Progress progress) override {
    FlowCaller caller{.principal = call->principal,
                      .session_id = call->session_id,
                      .peer = call->peer,
                      .traceparent = call->traceparent,
                      .mode = call->mode,
                      .forwarded = call->forwarded};
    if (call->forwarded) caller.hop = static_cast<std::uint32_t>(call->forwarded->way.size());
    FlowRequest request{.run = {}, .workflow = source_, .input = nullptr};
    if (takes_input_) request.input = call->args;
    if (call->dry_run) {
      auto fits = flows_().check(caller, std::move(*request.workflow), request.input);
      if (!fits) co_return std::move(fits).error();
      co_return ToolResult{};
    }
    // The run has the call's id, by which its principal finds it again.
    auto id = Ulid::parse(call->request_id);
    if (!id) co_return refuse(Code::kShape, "the id of the call is no ULID");
    request.run = *id;
    request.tool = capability_.id.text();
    // From here on the run is found again by its id, whatever becomes of this call.
    request.kept = [&progress](const Run& run) {
      if (!progress) return;
      progress(static_cast<double>(run.ended()), static_cast<double>(run.workflow().steps.size()),
               {});
    };
    auto answer = co_await flows_().run(std::move(caller), std::move(request), progress);
    if (!answer) co_return std::move(answer).error();
    bool is_done = answer->at("state") == "done";
    auto result = connectors::json_result(json::Value(std::move(*answer)));
    result.is_error = !is_done;
    co_return result;
  }

 private:
  static Capability capability_of(NamedWorkflow named) {
    Capability out{.id = *ToolId::parse(std::string(kSpace) + named.name)};
    const Workflow& workflow = named.workflow;
    out.title = workflow.title.empty() ? named.name : workflow.title;
    out.description = workflow.description;
    if (workflow.input) {
      out.input_schema = *workflow.input;
    } else {
      out.input_schema = {{"type", "object"}, {"additionalProperties", false}};
    }
    out.limits.time = workflow.time;
    return out;
  }

  const json::Object source_;
  const bool takes_input_;
  const Capability capability_;
  const std::function<Flows&()> flows_;
};

base::Result<NamedWorkflow> read_file(const fs::path& path, const Bounds& bounds) {
  std::string name = path.stem().string();
  if (!ToolId::parse(std::string(kSpace) + name)) {
    return fail(ErrorKind::kInvalid, "its name must be 1 to 64 of a-z, 0-9, \"_\" and \"-\"");
  }
  std::error_code ec;
  if (fs::file_size(path, ec) > kFileBytes || ec) {
    return fail(ErrorKind::kInvalid, "cannot be read, or is over 1 MiB");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return fail(ErrorKind::kInvalid, "cannot be read");
  ASSIGN_OR_RETURN(auto value, json::parse(text));
  if (!value.is_object()) return fail(ErrorKind::kInvalid, "must be a JSON object");
  auto workflow = read_workflow(std::move(value.get_object()), bounds);
  if (!workflow) return fail(ErrorKind::kInvalid, workflow.error().message);
  if (workflow->input) {
    auto schema = pipeline::Schema::compile(*workflow->input);
    if (!schema) return std::move(schema).error().with_context("workflow.input");
    const auto* type = workflow->input->if_contains("type");
    if (type == nullptr || *type != "object") {
      return fail(ErrorKind::kInvalid, "workflow.input: must be of type object");
    }
  }
  return NamedWorkflow{std::move(name), std::move(*workflow)};
}

}  // namespace

base::Result<std::vector<NamedWorkflow>> read_workflow_folder(const fs::path& folder,
                                                              const Bounds& bounds) {
  std::vector<fs::path> paths;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    if (it->path().extension() == ".json") paths.push_back(it->path());
  }
  if (ec) return fail(ErrorKind::kInvalid, "cannot be read").with_detail(ec.message());
  if (paths.size() > kFiles) return fail(ErrorKind::kInvalid, "holds over 256 workflows");
  std::ranges::sort(paths);
  std::vector<NamedWorkflow> out;
  for (const auto& path : paths) {
    auto one = read_file(path, bounds);
    if (!one) return std::move(one).error().with_context(path.filename().string());
    out.push_back(std::move(*one));
  }
  return out;
}

std::shared_ptr<connectors::Connector> flow_tools(std::vector<NamedWorkflow> workflows,
                                                  std::function<Flows&()> flows) {
  std::vector<std::unique_ptr<connectors::Tool>> tools;
  for (auto& one : workflows) tools.push_back(std::make_unique<FlowTool>(std::move(one), flows));
  return std::make_shared<connectors::ToolSet>(std::move(tools));
}

}  // namespace tool::workflow
