#include "toolserver/mcp_ingress/tasks.h"

#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>
#include <tuple>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::mcp_ingress {
namespace {

namespace asio = boost::asio;
namespace json = base::json;
using pipeline::testing::alice;
using pipeline::testing::object;
using pipeline::testing::run_on;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

Reply result(std::string_view text) {
  Reply reply;
  reply.body = object(text);
  return reply;
}

base::Task<Reply> at_once(Reply reply) { co_return reply; }

// Until it is cancelled.
base::Task<Reply> for_ever() {
  asio::steady_timer timer(co_await asio::this_coro::executor, steady_clock::time_point::max());
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  co_return fault_reply(refuse(Code::kCancelled, "cancelled"));
}

base::Task<Reply> asks(std::shared_ptr<LiveTask> task, std::vector<std::string> rounds) {
  std::string all;
  for (const auto& round : rounds) {
    auto said = co_await task->ask(object(round));
    if (!said) co_return fault_reply(said.error());
    all += json::write(*said);
  }
  co_return result(json::write(json::Object{{"said", all}}));
}

class TasksTest : public ::testing::Test {
 protected:
  static Caller caller(std::string subject = "alice") {
    Principal who = alice("tool:invoke:t.*");
    who.subject = std::move(subject);
    return std::make_shared<const Principal>(std::move(who));
  }
  std::shared_ptr<LiveTask> open(std::string subject = "alice",
                                 LiveTask::Lasts lasts = LiveTask::Lasts::kNo) {
    return tasks_
        .open({.creator = caller(std::move(subject)), .scope = "tool:invoke:t.a", .lasts = lasts},
              limits_, loop_.get_executor(), nullptr)
        .task;
  }
  // One that has been handed over.
  std::shared_ptr<LiveTask> begin(base::Task<Reply> work, std::string subject = "alice",
                                  LiveTask::Lasts lasts = LiveTask::Lasts::kNo) {
    auto task = open(std::move(subject), lasts);
    task->hand_over_now();
    tasks_.run(task, std::move(work));
    turn();
    return task;
  }
  // Everything that can be done now.
  void turn() {
    loop_.restart();
    loop_.poll();
  }
  static std::string shown(const TaskView& view) {
    std::string out(name(view.status));
    if (!view.questions.empty()) out += " " + json::write(view.questions);
    if (view.result) out += " " + json::write(*view.result);
    if (view.error) out += fmt::format(" {} {}", view.error->code, view.error->message);
    return view.message.empty() ? out : out + ", " + view.message;
  }
  [[nodiscard]] bool knows(const std::shared_ptr<LiveTask>& task) {
    return tasks_.find(task->facts().principal, task->facts().id) == task;
  }

  asio::io_context loop_;
  pipeline::testing::TestClock clock_;
  base::SystemRandom random_;
  transport::OpenSessions sessions_;
  Changes changes_;
  TaskLimits limits_{
      .of_principal = 2, .time = std::chrono::minutes(1), .patience = milliseconds(20)};
  Tasks tasks_{clock_, random_, sessions_, changes_};
};

TEST_F(TasksTest, belongs_to_its_principal_and_has_an_id_of_its_own) {
  auto one = begin(for_ever()), two = begin(for_ever());
  EXPECT_NE(one->facts().id, two->facts().id);
  EXPECT_TRUE(knows(one));
  EXPECT_EQ(tasks_.find(pipeline::key_of(*caller("bob")), one->facts().id), nullptr);
  EXPECT_EQ(tasks_.find(one->facts().principal, one->facts().id + "0"), nullptr);
  tasks_.find(one->facts().principal, one->facts().id)->cancel(LiveTask::By::kOwner);
  two->cancel(LiveTask::By::kOwner);
  turn();
}

TEST_F(TasksTest, a_principal_has_as_many_that_run_as_it_may_and_others_have_theirs) {
  auto one = begin(for_ever()), two = begin(for_ever());
  EXPECT_EQ(open(), nullptr);
  auto his = begin(for_ever(), "bob");
  one->cancel(LiveTask::By::kOwner);
  turn();
  // One that has ended is no place that is taken.
  auto three = begin(for_ever());
  EXPECT_EQ(open(), nullptr);
  EXPECT_TRUE(knows(one));
  for (const auto& task : {two, three, his}) task->cancel(LiveTask::By::kOwner);
  turn();
  limits_.of_principal = 0;
  EXPECT_EQ(open(), nullptr);
}

TEST_F(TasksTest, one_that_ends_soon_is_no_task_and_leaves_nothing) {
  auto task = open();
  tasks_.run(task, at_once(result(R"({"n":1})")));
  auto reply = run_on(loop_, task->hand_over(steady_clock::now() + std::chrono::minutes(1)));
  ASSERT_TRUE(reply && reply->body);
  EXPECT_EQ(json::write(*reply->body), R"({"n":1})");
  EXPECT_FALSE(task->can_be_asked());
  tasks_.forget(task);
  EXPECT_FALSE(knows(task));
}

TEST_F(TasksTest, is_handed_over_when_it_is_late_or_tells_how_far_it_is) {
  auto late = open(), told = open();
  tasks_.run(late, for_ever());
  tasks_.run(told, for_ever());
  EXPECT_FALSE(run_on(loop_, late->hand_over(steady_clock::now() + milliseconds(1))));
  EXPECT_TRUE(late->can_be_asked());
  told->progress()(1, 3, "read: done");
  EXPECT_FALSE(run_on(loop_, told->hand_over(steady_clock::now() + std::chrono::hours(1))));
  EXPECT_EQ(shown(told->view()), "working, 1 of 3: read: done");
  for (const auto& task : {late, told}) task->cancel(LiveTask::By::kOwner);
  turn();
}

TEST_F(TasksTest, who_gives_up_before_it_is_handed_over_ends_it) {
  auto task = open();
  tasks_.run(task, for_ever());
  asio::cancellation_signal gone;
  std::optional<Reply> reply;
  asio::co_spawn(loop_, task->hand_over(steady_clock::now() + std::chrono::hours(1)),
                 asio::bind_cancellation_slot(
                     gone.slot(), [&](const std::exception_ptr&, std::optional<Reply> value) {
                       reply = std::move(value);
                     }));
  turn();
  gone.emit(asio::cancellation_type::terminal);
  turn();
  ASSERT_TRUE(reply && !reply->body);
  EXPECT_EQ(reply->body.error().data->at("code"), "E_CANCELLED");
}

TEST_F(TasksTest, questions_are_answered_one_by_one_and_no_name_is_used_twice) {
  auto task = open();
  task->hand_over_now();
  tasks_.run(task,
             asks(task, {R"({"a":{"method":"x"},"b":{"method":"y"}})", R"({"a":{"method":"z"}})"}));
  turn();
  EXPECT_EQ(shown(task->view()), R"(input_required {"a":{"method":"x"},"b":{"method":"y"}})");
  task->answer(object(R"({"b":{"n":2},"c":{"n":3}})"));
  turn();
  EXPECT_EQ(shown(task->view()), R"(input_required {"a":{"method":"x"}})");
  task->answer(object(R"({"b":{"n":9},"a":{"n":1}})"));
  turn();
  EXPECT_EQ(shown(task->view()), R"(input_required {"a-2":{"method":"z"}})");
  task->answer(object(R"({"a":{"n":8}})"));
  turn();
  EXPECT_EQ(shown(task->view()), R"(input_required {"a-2":{"method":"z"}})");
  task->answer(object(R"({"a-2":{"n":4}})"));
  turn();
  EXPECT_EQ(shown(task->view()),
            R"(completed {"said":"{\"a\":{\"n\":1},\"b\":{\"n\":2}}{\"a\":{\"n\":4}}"})");
}

TEST_F(TasksTest, nobody_answers_so_it_ends) {
  limits_.time = milliseconds(1);
  auto task = open();
  task->hand_over_now();
  tasks_.run(task, asks(task, {R"({"a":{"method":"x"}})"}));
  loop_.run();
  EXPECT_EQ(
      shown(task->view()),
      "failed -32000 nobody answered the task's question, nobody answered the task's question");
}

TEST_F(TasksTest, only_its_owner_cancels_it) {
  auto own = begin(for_ever()), other = begin(for_ever());
  own->cancel(LiveTask::By::kOwner);
  // An operator takes the credential back.
  EXPECT_EQ(sessions_.end([&](const auto& one) { return one.id == "mcp:task"; }), 2U);
  turn();
  EXPECT_EQ(shown(own->view()), "cancelled, cancelled; whether the call did its work is not known");
  EXPECT_EQ(shown(other->view()), "failed -32000 cancelled, cancelled");
  EXPECT_TRUE(sessions_.list().empty());
  own->cancel(LiveTask::By::kOwner);
  own->answer(object(R"({"a":{}})"));
  turn();
}

TEST_F(TasksTest, what_has_a_record_is_over_when_the_record_says_so) {
  constexpr auto kLasts = LiveTask::Lasts::kByItsRecord;
  auto ended = [&](Reply reply) {
    return shown(begin(at_once(std::move(reply)), "alice", kLasts)->view());
  };
  EXPECT_EQ(ended(result(R"({"structuredContent":{"state":"done"}})")),
            R"(completed {"structuredContent":{"state":"done"}})");
  EXPECT_EQ(
      ended(result(R"({"structuredContent":{"state":"unknown"}})")),
      R"(completed {"structuredContent":{"state":"unknown"}}, whether one of the steps did its work is not known)");
  EXPECT_EQ(ended(result(R"({"structuredContent":{"state":"cancelled"}})")),
            "cancelled, cancelled; what was done is taken back as far as there is an undo");
  // What keeps it from going on is no end of it.
  EXPECT_EQ(ended(fault_reply(refuse(Code::kExpired, "out of its time"))),
            "working, it waits: E_EXPIRED: out of its time");
  EXPECT_EQ(ended(result(R"({"isError":true,"content":[{"type":"text","text":"E_POLICY: no"}]})")),
            "working, it waits: E_POLICY: no");
}

TEST_F(TasksTest, one_that_waits_is_asked_for_again_by_its_record_after_a_pause) {
  auto task = begin(at_once(fault_reply(refuse(Code::kBusy, "no room"))), "alice",
                    LiveTask::Lasts::kByItsRecord);
  EXPECT_TRUE(task->waits());
  EXPECT_TRUE(knows(task));
  clock_.micros += 3'000'000;
  EXPECT_FALSE(knows(task));
  auto plain = begin(at_once(fault_reply(refuse(Code::kBusy, "no room"))));
  clock_.micros += 3'000'000;
  EXPECT_FALSE(plain->waits());
  EXPECT_TRUE(knows(plain));
}

TEST_F(TasksTest, an_answer_is_kept_for_its_time) {
  auto task = begin(at_once(result("{}")));
  EXPECT_EQ(task->facts().life, milliseconds(120'000));
  clock_.micros += 119'999'999;
  EXPECT_TRUE(knows(task));
  clock_.micros += 1;
  EXPECT_FALSE(knows(task));
}

TEST_F(TasksTest, the_oldest_answers_go_first_and_those_of_who_has_too_many) {
  Reply large;
  large.body = json::Object{{"x", std::string(Tasks::kMostBytes / 4 - 64, 'x')}};
  auto other = begin(at_once(large), "bob");
  auto first = begin(at_once(large)), second = begin(at_once(large));
  EXPECT_TRUE(knows(first) && knows(second) && knows(other));
  auto third = begin(at_once(large));
  EXPECT_FALSE(knows(first));
  EXPECT_TRUE(knows(second) && knows(third) && knows(other));
  auto another = begin(at_once(large), "carol");
  EXPECT_TRUE(knows(another) && knows(other));
  auto last = begin(at_once(large), "carol");
  EXPECT_FALSE(knows(other));
  EXPECT_TRUE(knows(second) && knows(last));
}

TEST_F(TasksTest, a_name_that_is_there_is_the_same_task) {
  auto task = begin(for_ever());
  auto again = tasks_.open({.id = task->facts().id, .creator = caller()}, limits_,
                           loop_.get_executor(), nullptr);
  EXPECT_EQ(again.task, task);
  EXPECT_FALSE(again.is_new);
  auto his = tasks_.open({.id = task->facts().id, .creator = caller("bob")}, limits_,
                         loop_.get_executor(), nullptr);
  EXPECT_NE(his.task, task);
  EXPECT_TRUE(his.is_new);
  tasks_.run(his.task, at_once(result("{}")));
  task->cancel(LiveTask::By::kOwner);
  turn();
}

TEST_F(TasksTest, listeners_are_told_of_what_changes_after_it_was_handed_over) {
  std::vector<std::string> told;
  Changes::Listener listener(changes_, [&](const Change& change) {
    if (change.kind == Change::Kind::kTask) told.push_back(change.uri);
  });
  auto quick = open();
  tasks_.run(quick, at_once(result("{}")));
  EXPECT_TRUE(told.empty());
  auto task = begin(for_ever());
  task->progress()(1, std::nullopt, "");
  task->cancel(LiveTask::By::kOwner);
  turn();
  EXPECT_EQ(told, (std::vector<std::string>(2, task->facts().id)));
}

TEST_F(TasksTest, a_service_that_stops_ends_what_is_left_and_opens_no_more) {
  auto task = begin(for_ever());
  auto work = asio::make_work_guard(loop_);
  loop_.restart();
  std::thread thread([this] { loop_.run(); });
  tasks_.stop(steady_clock::now() + milliseconds(20));
  EXPECT_EQ(shown(task->view()), "failed -32000 cancelled, cancelled");
  EXPECT_EQ(open(), nullptr);
  EXPECT_FALSE(knows(task));
  work.reset();
  thread.join();
}

TEST(TaskView, has_what_its_status_has_and_no_more) {
  TaskView view{.id = "t", .life = milliseconds(5)};
  view.created = view.changed = base::WallTime(std::chrono::microseconds(1'795'251'600'123'456));
  view.questions = object(R"({"a":{}})");
  view.result = object(R"({"content":[]})");
  view.error = mcp::RpcError{-32603, "x", json::Value(object(R"({"code":"E_UPSTREAM"})"))};
  const std::string common =
      R"("taskId":"t","status":"{}","createdAt":"2026-11-21T09:00:00.123Z","lastUpdatedAt":"2026-11-21T09:00:00.123Z","ttlMs":5,"pollIntervalMs":1000)";
  auto whole = [&](std::string_view status, std::string_view more, std::string_view type) {
    std::string text = common;
    text.replace(text.find("{}"), 2, status);
    return object("{" + text + R"(,"resultType":")" + std::string(type) + "\"" + std::string(more) +
                  "}");
  };
  using enum TaskStatus;
  const std::vector<std::tuple<TaskStatus, std::string_view, std::string_view>> all{
      {kWorking, "working", ""},
      {kInputRequired, "input_required", R"(,"inputRequests":{"a":{}})"},
      {kCompleted, "completed", R"(,"result":{"content":[]})"},
      {kFailed, "failed", R"(,"error":{"code":-32603,"message":"x","data":{"code":"E_UPSTREAM"}})"},
      {kCancelled, "cancelled", ""}};
  for (const auto& [status, word, more] : all) {
    view.status = status;
    EXPECT_EQ(write_task(view), whole(word, more, "complete"));
    EXPECT_EQ(write_handle(view), whole(word, "", "task"));
  }
}

}  // namespace
}  // namespace tool::mcp_ingress
