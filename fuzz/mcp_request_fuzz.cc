// Any request of an MCP client over HTTP: its head, an empty line, and its body. What is taken was
// said once, and the same in both; every parameter keeps its bound; a task's questions have the
// answers that were given; and no state is opened that was not sealed here.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/text.h"
#include "base/http/request_head.h"
#include "toolserver/mcp/framing.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp/request_meta.h"
#include "toolserver/mcp/revision.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/http_request.h"
#include "toolserver/mcp_ingress/live_task.h"
#include "toolserver/mcp_ingress/params.h"
#include "toolserver/mcp_ingress/request_state.h"

namespace {

using namespace tool::mcp_ingress;  // NOLINT: this file is about nothing else.
namespace json = base::json;
namespace mcp = tool::mcp;

void require(bool holds) {
  if (!holds) std::abort();
}

// Nothing here calls a tool.
class NoTools final : public ToolBackend {
 public:
  tool::Outcome<void> admit(const Call&) override { std::abort(); }
  base::Task<tool::Outcome<ToolList>> list(std::shared_ptr<const Call>) override { std::abort(); }
  base::Task<tool::Outcome<tool::ToolResult>> call(std::shared_ptr<const Call>, ToolCall) override {
    std::abort();
  }
  tool::Outcome<void> record(const Call&, std::string_view, std::string_view) override {
    std::abort();
  }
  [[nodiscard]] bool tells_changes() const override { return true; }
  base::Task<std::string> scope_of(std::shared_ptr<const Call>, std::string,
                                   json::Object) override {
    std::abort();
  }
};

struct World {
  base::SystemClock clock;
  base::SystemRandom random;
  NoTools tools;
  RequestStates states{clock, random};
  Dispatcher all{{}, tools, {}, states};
  Dispatcher newest{{.minimum = mcp::kNewest}, tools, {}, states};
};

World& world() {
  static World the_world;
  return the_world;
}

void check_revision(const base::http::Headers& headers, const mcp::RequestMeta& meta,
                    const Dispatcher& dispatcher) {
  const auto revision = revision_of(headers, meta, dispatcher);
  if (!revision) return require(revision.error().status == 400 && !revision.error().body);
  require(dispatcher.served(std::string(mcp::name(*revision))).has_value());
  if (!mcp::is_stateless(*revision)) return;
  require(meta.version == mcp::name(*revision) && meta.client_capabilities.has_value());
  const auto field = one_field(headers, "mcp-protocol-version");
  require(field && *field == meta.version);
}

void check_names(const base::http::Headers& headers, const mcp::Request& request) {
  if (!check_fields(headers, request)) return;
  require(headers.get("Mcp-Method") == request.method);
  const bool is_task = request.method == mcp::method::kGetTask ||
                       request.method == mcp::method::kUpdateTask ||
                       request.method == mcp::method::kCancelTask;
  if (request.method != mcp::method::kCallTool && !is_task) return;
  const auto written = mcp::decode_header(headers.get("Mcp-Name").value());
  const auto* name = request.params.if_contains(is_task ? "taskId" : "name");
  const bool is_text = name != nullptr && name->is_string();
  require(written && *written == (is_text ? std::string_view(name->get_string()) : ""));
}

// Any answers to a task's two questions: what was asked is answered or still open, and nothing
// else is taken.
void check_answers(const json::Object& params) {
  const auto inputs = inputs_of(params);
  if (!inputs || !*inputs) return;
  boost::asio::io_context loop;
  auto task = std::make_shared<LiveTask>(
      LiveTask::Facts{.id = "t",
                      .life = std::chrono::hours(1),
                      .deadline = std::chrono::steady_clock::now() + std::chrono::hours(1)},
      world().clock, loop.get_executor(), nullptr, [] {});
  task->hand_over_now();
  std::optional<json::Object> said;
  boost::asio::co_spawn(loop, task->ask({{"a", json::Object()}, {"b", json::Object()}}),
                        [&](const std::exception_ptr&, tool::Outcome<json::Object> outcome) {
                          if (outcome) said = std::move(*outcome);
                        });
  loop.poll();
  const auto& responses = (*inputs)->responses;
  task->answer(responses);
  loop.restart();
  loop.poll();
  const bool is_whole = responses.contains("a") && responses.contains("b");
  require(said.has_value() == is_whole);
  const auto view = task->view();
  for (const char* name : {"a", "b"}) {
    require(is_whole || view.questions.contains(name) != responses.contains(name));
    if (is_whole) require(said->size() == 2 && said->at(name) == responses.at(name));
  }
  require(write_task(view).at("taskId") == "t");
  task->answer({{"a", json::Object()}, {"b", json::Object()}});
  loop.restart();
  loop.poll();
  require(said.has_value());
}

void check_params(const json::Object& params) {
  for (const char* member : {"name", "uri", "taskId"}) {
    const auto text = text_param(params, member);
    require(!text || (!text->empty() && text->size() <= 4'096));
  }
  if (auto inputs = inputs_of(params); inputs && *inputs) {
    for (const auto& one : (*inputs)->responses) require(one.value().is_object());
  }
  check_answers(params);
  std::ignore = prompt_request_of(params);
  std::ignore = completion_of(params);
  if (auto filter = read_filter(params)) {
    require(filter->uris.size() <= 256 && filter->tasks.size() <= 256);
  }
  const Reply page = page_of(std::vector<json::Object>(150), "tools", params);
  if (page.body) {
    const std::size_t count = page.body->at("tools").as_array().size();
    require(count <= 100 && (count > 0 || !page.body->contains("nextCursor")));
  }
  std::ignore = world().all.listen_filter(params, {}, {});
}

void check_request(const base::http::Headers& headers, const mcp::Request& request) {
  check_names(headers, request);
  check_params(request.params);
  if (const auto meta = mcp::read_meta(request.params)) {
    if (meta->client_capabilities) std::ignore = declares_tasks(*meta->client_capabilities);
    check_revision(headers, *meta, world().all);
    check_revision(headers, *meta, world().newest);
  }
  if (const auto begun = world().all.initialize(request)) {
    require(begun->result.at("protocolVersion").as_string() == mcp::name(begun->revision));
  }
}

void check_state(const std::string& text) {
  const StateOwner owner{text.substr(0, text.size() / 2), "tools/call", "t.a", text};
  require(!world().states.open(owner, text));
  if (!base::is_utf8(text)) return;
  const auto sealed = world().states.seal(owner, {text, CarriedState::Consent::kGiven});
  if (!sealed) return;
  require(!world().states.open({owner.principal, owner.method, "t.b", text}, *sealed));
  const auto opened = world().states.open(owner, *sealed);
  require(opened && opened->tool_state == text);
  require(!world().states.open(owner, *sealed));  // A consent is taken once.
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  if (size <= 1'024) check_state(std::string(all));
  const auto end = base::http::find_head_end(all, 0);
  if (!end) return 0;
  const auto head = base::http::parse_head(all.substr(0, *end));
  if (!head) return 0;
  const auto& headers = head->request.headers;
  std::ignore = accepts_of(headers);
  std::ignore = is_json(headers);
  const auto message =
      mcp::parse_message(all.substr(*end), {.bytes = 1 << 16, .depth = 32, .values = 10'000});
  if (!message) return 0;
  if (const auto* request = std::get_if<mcp::Request>(&*message)) check_request(headers, *request);
  return 0;
}
