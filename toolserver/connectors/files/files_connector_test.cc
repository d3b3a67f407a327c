#include "toolserver/connectors/files/files_connector.h"

#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <thread>

#include "base/crypto/encoding.h"
#include "toolserver/connectors/files/fixture_test.h"
#include "toolserver/connectors/files/stoppable.h"

namespace tool::files {
namespace {

using base::json::Object;

class FilesConnectorTest : public testing::Test, public FilesFixture {
 protected:
  std::unique_ptr<FilesConnector> connector_ = connector(options());

  /// The structured answer of a call that must succeed.
  Object answer(std::string_view tool, Object args) {
    auto outcome = call(*connector_, tool, std::move(args));
    if (!outcome) ADD_FAILURE() << outcome.error().message;
    if (!outcome || outcome->is_error || !outcome->structured) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    return outcome->structured->as_object();
  }
  Code code(std::string_view tool, Object args) {
    auto outcome = call(*connector_, tool, std::move(args));
    EXPECT_FALSE(outcome);
    return outcome ? Code::kInternal : outcome.error().code;
  }
  bool is_error(std::string_view tool, Object args) {
    auto outcome = call(*connector_, tool, std::move(args));
    return outcome && outcome->is_error && !outcome->content.empty();
  }
};

TEST_F(FilesConnectorTest, shows_the_tools_that_are_allowed) {
  auto names = [](const FilesConnector& connector) {
    std::vector<std::string> out;
    for (const auto& tool : connector.capabilities()) out.push_back(tool.id.text());
    return out;
  };
  EXPECT_EQ(names(*connector_), (std::vector<std::string>{"files.read", "files.list", "files.stat",
                                                          "files.write", "files.delete"}));
  auto settings = options();
  settings.allow_write = Permission::kRefused;
  settings.allow_delete = Permission::kRefused;
  settings.space = "notes";
  auto reading = connector(settings);
  EXPECT_EQ(names(*reading), (std::vector<std::string>{"notes.read", "notes.list", "notes.stat"}));
  auto outcome = call(*reading, "notes.write", {{"path", "n.txt"}, {"content", "x"}});
  EXPECT_EQ(outcome.error().code, Code::kPolicy);
  outcome = call(*reading, "notes.delete", {{"path", "a.txt"}});
  EXPECT_EQ(outcome.error().code, Code::kPolicy);
  EXPECT_TRUE(exists(root("a.txt")));
  EXPECT_FALSE(exists(root("n.txt")));
}

TEST_F(FilesConnectorTest, every_tool_has_closed_schemas_and_honest_hints) {
  for (const auto& tool : connector_->capabilities()) {
    EXPECT_EQ(tool.input_schema.at("additionalProperties"), false);
    ASSERT_TRUE(tool.output_schema);
    bool changes = tool.id.name() == "write" || tool.id.name() == "delete";
    EXPECT_EQ(tool.annotations.read_only, !changes) << tool.id.text();
    EXPECT_EQ(tool.annotations.destructive, changes) << tool.id.text();
    EXPECT_EQ(tool.consent == ConsentRule::kNever, !changes) << tool.id.text();
  }
}

TEST_F(FilesConnectorTest, answers_hold_just_what_their_schema_names) {
  auto check = [&](std::string_view tool, const Object& answer) {
    for (const auto& capability : connector_->capabilities()) {
      if (capability.id.text() != tool) continue;
      const auto& properties = capability.output_schema->at("properties").as_object();
      for (const auto& member : answer) EXPECT_TRUE(properties.contains(member.key()));
      for (const auto& name : capability.output_schema->at("required").as_array()) {
        EXPECT_TRUE(answer.contains(name.as_string())) << tool << " " << name.as_string();
      }
    }
  };
  check("files.read", answer("files.read", {{"path", "a.txt"}}));
  check("files.list", answer("files.list", {}));
  check("files.stat", answer("files.stat", {{"path", "a.txt"}}));
  check("files.stat", answer("files.stat", {{"path", "folder"}}));
  check("files.write", answer("files.write", {{"path", "n.txt"}, {"content", ""}}));
  check("files.delete", answer("files.delete", {{"path", "n.txt"}}));
}

TEST_F(FilesConnectorTest, bytes_come_back_as_they_were_written) {
  std::string bytes("\x00\xff\x80 any", 7);
  std::string coded = base::crypto::to_base64(bytes);
  answer("files.write", {{"path", "b.csv"}, {"content", coded}, {"encoding", "base64"}});
  EXPECT_EQ(file_content(root("b.csv")), bytes);
  auto outcome = call(*connector_, "files.read", {{"path", "b.csv"}, {"encoding", "base64"}});
  EXPECT_EQ(outcome->content.front().data, bytes);
  EXPECT_EQ(outcome->content.front().media_type, "application/octet-stream");
  EXPECT_EQ(outcome->structured->at("content"), coded.c_str());
  EXPECT_TRUE(is_error("files.read", {{"path", "b.csv"}}));
}

TEST_F(FilesConnectorTest, what_the_caller_can_correct_is_a_result) {
  EXPECT_TRUE(is_error("files.read", {{"path", "none.txt"}}));
  EXPECT_TRUE(is_error("files.stat", {{"path", "none.txt"}}));
  EXPECT_TRUE(is_error("files.list", {{"path", "none"}}));
  EXPECT_TRUE(is_error("files.delete", {{"path", "none.txt"}}));
  EXPECT_TRUE(is_error("files.write", {{"path", "none/n.txt"}, {"content", ""}}));
  EXPECT_TRUE(is_error("files.write", {{"path", "a.txt"}, {"content", ""}}));
  EXPECT_TRUE(is_error("files.read", {{"path", "a.txt"}, {"offset", 6}}));
}

TEST_F(FilesConnectorTest, arguments_of_another_shape_are_refused) {
  EXPECT_EQ(code("files.read", {}), Code::kShape);
  EXPECT_EQ(code("files.read", {{"path", 1}}), Code::kShape);
  EXPECT_EQ(code("files.read", {{"path", "a.txt"}, {"offset", -1}}), Code::kShape);
  EXPECT_EQ(code("files.read", {{"path", "a.txt"}, {"offset", 1.5}}), Code::kShape);
  EXPECT_EQ(code("files.read", {{"path", "a.txt"}, {"length", "1"}}), Code::kShape);
  EXPECT_EQ(code("files.read", {{"path", "a.txt"}, {"encoding", "hex"}}), Code::kShape);
  EXPECT_EQ(code("files.read", {{"path", "a.txt"}, {"other", 1}}), Code::kShape);
  EXPECT_EQ(code("files.write", {{"path", "n.txt"}}), Code::kShape);
  EXPECT_EQ(code("files.write", {{"path", "n.txt"}, {"content", ""}, {"mode", "append"}}),
            Code::kShape);
  EXPECT_EQ(code("files.write", {{"path", "n.txt"}, {"content", "!"}, {"encoding", "base64"}}),
            Code::kShape);
  EXPECT_EQ(code("files.list", {{"recursive", "yes"}}), Code::kShape);
  EXPECT_EQ(code("files.list", {{"cursor", "!"}}), Code::kShape);
  EXPECT_EQ(code("files.list", {{"cursor", base::crypto::to_base64url("../outside")}}),
            Code::kShape);
  EXPECT_EQ(code("files.other", {}), Code::kShape);
  EXPECT_EQ(code("other.read", {{"path", "a.txt"}}), Code::kShape);
}

TEST_F(FilesConnectorTest, caps_of_the_design_hold_at_both_ends) {
  put_file(root("full.txt"), std::string(10 << 20, 'x'));
  put_file(root("over.txt"), std::string((10 << 20) + 1, 'x'));
  EXPECT_EQ(answer("files.read", {{"path", "full.txt"}}).at("length"), 10 << 20);
  EXPECT_EQ(code("files.read", {{"path", "over.txt"}}), Code::kLimit);
  std::string most(5 << 20, 'x');
  answer("files.write", {{"path", "most.txt"}, {"content", most}});
  EXPECT_EQ(code("files.write", {{"path", "more.txt"}, {"content", most + "x"}}), Code::kLimit);
  Object coded{{"path", "coded.txt"}, {"encoding", "base64"}};
  coded["content"] = base::crypto::to_base64(most);
  answer("files.write", coded);
  coded["path"] = "more.txt";
  coded["content"] = base::crypto::to_base64(most + "x");
  EXPECT_EQ(code("files.write", coded), Code::kLimit);
  EXPECT_FALSE(exists(root("more.txt")));
}

TEST_F(FilesConnectorTest, a_listing_goes_on_with_its_cursor_and_tells_its_progress) {
  make_folder(root("many"));
  for (int i = 0; i < 3000; ++i) put_file(root(fmt::format("many/{:04}.txt", i)), "");
  auto settings = options();
  settings.list_cap = 2000;
  connector_ = connector(settings);
  Object args{{"path", "many"}, {"recursive", true}};
  std::vector<double> told;
  auto first =
      call(*connector_, "files.list", args,
           [&](double done, std::optional<double>, const std::string&) { told.push_back(done); });
  ASSERT_TRUE(first);
  EXPECT_EQ(first->structured->at("entries").as_array().size(), 2000U);
  EXPECT_FALSE(told.empty());
  args["cursor"] = first->structured->at("cursor");
  Object rest = answer("files.list", args);
  EXPECT_EQ(rest.at("entries").as_array().size(), 1000U);
  EXPECT_EQ(rest.at("entries").at(0).at("path"), "many/2000.txt");
  EXPECT_FALSE(rest.contains("cursor"));
}

TEST_F(FilesConnectorTest, a_dry_run_changes_nothing) {
  auto dry = [&](std::string_view tool, Object args) {
    auto request = invocation(tool, std::move(args));
    request.dry_run = true;
    boost::asio::io_context loop;
    std::optional<Outcome<ToolResult>> answer;
    boost::asio::co_spawn(loop, connector_->invoke(ApprovedForTest::make(request), {}),
                          [&](const std::exception_ptr&, Outcome<ToolResult> outcome) {
                            answer.emplace(std::move(outcome));
                          });
    loop.run();
    return answer->value().structured->at("dry_run").as_bool();
  };
  EXPECT_TRUE(dry("files.delete", {{"path", "a.txt"}}));
  EXPECT_TRUE(dry("files.write", {{"path", "n.txt"}, {"content", "x"}}));
  EXPECT_TRUE(exists(root("a.txt")));
  EXPECT_FALSE(exists(root("n.txt")));
}

TEST_F(FilesConnectorTest, an_expired_deadline_is_told_before_any_work) {
  auto request = invocation("files.write", {{"path", "n.txt"}, {"content", "x"}});
  request.context.deadline = std::chrono::steady_clock::now();
  boost::asio::io_context loop;
  std::optional<Code> code;
  boost::asio::co_spawn(loop, connector_->invoke(ApprovedForTest::make(request), {}),
                        [&](const std::exception_ptr&, Outcome<ToolResult> outcome) {
                          if (!outcome) code = outcome.error().code;
                        });
  loop.run();
  EXPECT_EQ(code, Code::kTimeout);
  EXPECT_FALSE(exists(root("n.txt")));
}

// The work waits for the flag, so the test ends only if cancellation sets it.
TEST(StoppableTest, cancellation_reaches_the_work_and_its_answer_is_awaited) {
  base::BlockingPool pool(1);
  boost::asio::io_context loop;
  boost::asio::cancellation_signal cancel;
  auto stopped = std::make_shared<std::atomic<bool>>(false);
  std::optional<int> answer;
  auto work = [&loop, &cancel, stopped] {
    boost::asio::post(loop, [&] { cancel.emit(boost::asio::cancellation_type::terminal); });
    while (!*stopped) std::this_thread::yield();
    return 7;
  };
  auto run = [](base::BlockingPool* pool, std::shared_ptr<std::atomic<bool>> stopped,
                std::function<int()> work, std::optional<int>* answer) -> base::Task<void> {
    answer->emplace(co_await run_stoppable(*pool, std::move(stopped), std::move(work)));
  };
  boost::asio::co_spawn(loop, run(&pool, stopped, work, &answer),
                        boost::asio::bind_cancellation_slot(cancel.slot(), boost::asio::detached));
  loop.run();
  EXPECT_EQ(answer, 7);
}

}  // namespace
}  // namespace tool::files
