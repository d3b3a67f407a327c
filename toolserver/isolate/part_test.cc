#include "toolserver/isolate/part.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "toolserver/isolate/frame.h"
#include "toolserver/isolate/part_client.h"
#include "toolserver/isolate/roles_for_test.h"

namespace tool::isolate {
namespace {

using base::ErrorKind;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kChannelOfRole = 4;

void say(std::string_view bytes) {
  (void)!::send(kChannelOfRole, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void until_cancelled(const Ticket& ticket) {
  while (!ticket.cancelled()) std::this_thread::sleep_for(milliseconds(1));
}

// What a child that was taken over could send, by the name of the request.
void misbehave(const std::string& request) {
  if (request == "garbage") say("\xff\xff\xff\xff garbage");
  if (request == "short frame") say(std::string(4, '\0'));
  if (request == "unknown kind") say(std::string("\x09\0\0\0\x63", 5) + std::string(8, '\0'));
  if (request == "long frame") say(std::string("\xff\xff\xff\x7f\x06", 5));
  if (request == "half frame") {
    say(std::string("\xff\0\0\0\x06half", 9));
    ::_exit(0);
  }
  if (request == "of nobody") say(encode({FrameKind::kAnswer, 1'000'000, "x"}));
  if (request == "to itself") say(encode({FrameKind::kRequest, 1, "x"}));
  if (request == "ready again") say(encode({FrameKind::kReady, 0, {}}));
  if (request == "failed now") say(encode({FrameKind::kFailed, 0, "x"}));
  if (request == "die") ::_exit(9);
  if (request == "abort") std::abort();
}

// How many threads have answered requests so far.
std::size_t threads_so_far() {
  static std::mutex mutex;
  static std::set<std::thread::id> seen;
  std::lock_guard lock(mutex);
  seen.insert(std::this_thread::get_id());
  return seen.size();
}

std::string handle(const std::string& request, Ticket& ticket) {
  if (request == "threads") return std::to_string(threads_so_far());
  if (request == "stop") {
    ticket.progress("stops");
    std::raise(SIGSTOP);  // All of it: nothing is read any more.
  }
  if (request == "wait") {
    until_cancelled(ticket);
    return "waited";
  }
  if (request == "never") {
    for (;;) std::this_thread::sleep_for(seconds(1));
  }
  if (request == "note") {
    ticket.progress("half");
    until_cancelled(ticket);
  }
  if (request == "memory") {
    std::vector<std::string> all;
    try {
      for (;;) all.emplace_back(64 << 20, 'x');
    } catch (const std::bad_alloc&) {
      return "no more";
    }
  }
  if (request.starts_with("long ")) return std::string(std::stoul(request.substr(5)), 'x');
  misbehave(request);
  return "<" + request + ">";
}

class PartTest : public ::testing::Test {
 protected:
  PartOptions options(const std::string& opening = "") {
    PartOptions made{.role = "part", .walls = {.memory_bytes = 1ULL << 30}};
    made.answer_bytes = 1 << 20;
    made.grace = milliseconds(300);
    made.longest_pause = milliseconds(10);
    made.opening = [opening](bool after_failure) {
      return after_failure ? "after failure" : opening;
    };
    made.on_event = [this](const PartEvent& event) {
      std::lock_guard lock(mutex_);
      events_.push_back(event.kind);
    };
    return made;
  }
  void SetUp() override {
    auto started = PartClient::start(options());
    ASSERT_TRUE(started) << started.error().message() << started.error().detail();
    part = *std::move(started);
  }

  static base::Deadline soon() { return steady_clock::now() + seconds(60); }

  base::Result<std::string> call(const std::string& request, base::Deadline deadline = soon()) {
    boost::asio::io_context loop(1);
    std::optional<base::Result<std::string>> answer;
    boost::asio::co_spawn(loop, part->call(request, deadline),
                          [&](std::exception_ptr, base::Result<std::string> made) {
                            answer.emplace(std::move(made));
                          });
    loop.run();
    return *std::move(answer);
  }
  void expect_alive() {
    auto answer = call("hello");
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(*answer, "<hello>");
  }
  long count(PartEvent::Kind kind) {
    std::lock_guard lock(mutex_);
    return std::ranges::count(events_, kind);
  }

  std::unique_ptr<PartClient> part;

 private:
  std::mutex mutex_;
  std::vector<PartEvent::Kind> events_;
};

TEST_F(PartTest, answers_requests_side_by_side) {
  boost::asio::io_context loop(1);
  std::vector<std::string> answers(40);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    boost::asio::co_spawn(loop, part->call(std::to_string(i), soon()),
                          [&, i](std::exception_ptr, base::Result<std::string> made) {
                            answers[i] = made ? *made : made.error().message();
                          });
  }
  loop.run();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i], "<" + std::to_string(i) + ">");
  }
}

TEST_F(PartTest, requests_larger_than_the_channel_arrive_whole_and_in_their_order) {
  boost::asio::io_context loop(1);
  std::vector<std::string> answers(24);
  auto request_of = [](std::size_t i) {
    return std::string(i % 3 == 0 ? 900'000 : 10, static_cast<char>('a' + i));
  };
  for (std::size_t i = 0; i < answers.size(); ++i) {
    boost::asio::co_spawn(loop, part->call(request_of(i), soon()),
                          [&, i](std::exception_ptr, base::Result<std::string> made) {
                            answers[i] = made ? *made : made.error().message();
                          });
  }
  loop.run();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_TRUE(answers[i] == "<" + request_of(i) + ">") << i << ": " << answers[i].size();
  }
}

TEST_F(PartTest, requests_one_after_another_need_no_new_threads) {
  for (int i = 0; i < 50; ++i) {
    auto count = call("threads");
    ASSERT_TRUE(count);
    // One answers, and one reads meanwhile.
    EXPECT_LE(std::stoi(*count), 2);
  }
}

TEST_F(PartTest, a_child_that_does_not_read_is_ended_and_those_who_write_to_it_are_free) {
  boost::asio::io_context loop(1);
  std::map<std::string, std::string> answers;
  auto begin = [&](const std::string& request, base::Deadline deadline,
                   std::function<void(const std::string&)> on_note = {}) {
    boost::asio::co_spawn(
        loop, part->call(request, deadline, std::move(on_note)),
        [&, name = request.substr(0, 4)](std::exception_ptr, base::Result<std::string> made) {
          answers[name] = made ? *made : std::string(to_string(made.error().kind()));
        });
  };
  begin("stop", steady_clock::now() + milliseconds(600), [&](const std::string&) {
    begin(std::string(2 << 20, 'x'), soon());  // It fills the channel.
    begin("late", soon());
  });
  loop.run();
  EXPECT_EQ(answers["stop"], "timeout");
  EXPECT_EQ(answers["xxxx"], "unavailable");
  // It had to wait behind the large one, so no child knew of it.
  EXPECT_EQ(answers["late"], "<late>");
  expect_alive();
}

TEST_F(PartTest, whatever_a_child_sends_ends_the_child_alone) {
  for (const char* request :
       {"garbage", "short frame", "unknown kind", "long frame", "half frame", "of nobody",
        "to itself", "ready again", "failed now", "die", "abort"}) {
    auto answer = call(request);
    // Its own answer may have come before.
    if (!answer) EXPECT_EQ(answer.error().kind(), ErrorKind::kUnavailable) << request;
    expect_alive();
  }
  EXPECT_GE(count(PartEvent::Kind::kEnded), 11);
}

TEST_F(PartTest, an_answer_has_a_longest_length) {
  auto longest = call("long " + std::to_string(1 << 20));
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->size(), 1U << 20);
  auto over = call("long " + std::to_string((1 << 20) + 1));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind(), ErrorKind::kUnavailable);
  expect_alive();
}

TEST_F(PartTest, a_call_in_the_child_when_it_dies_is_told_and_others_wait_for_the_next) {
  boost::asio::io_context loop(1);
  std::map<std::string, std::string> answers;
  auto begin = [&](const std::string& request) {
    boost::asio::co_spawn(loop, part->call(request, soon()),
                          [&, request](std::exception_ptr, base::Result<std::string> made) {
                            answers[request] =
                                made ? *made : std::string(to_string(made.error().kind()));
                          });
  };
  begin("wait");
  begin("die");
  while (answers.size() < 2) loop.run_one();
  EXPECT_EQ(answers["wait"], "unavailable");
  EXPECT_EQ(answers["die"], "unavailable");
  loop.restart();
  begin("after");
  while (answers.size() < 3) loop.run_one();
  EXPECT_EQ(answers["after"], "<after>");
}

TEST_F(PartTest, memory_ends_what_asks_for_it_and_not_this_process) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return;  // A sanitizer's shadow is larger than any limit: the walls leave it out.
#endif
#endif
  auto answer = call("memory");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, "no more");
  expect_alive();
}

TEST_F(PartTest, a_call_that_does_not_end_is_ended_with_its_child) {
  auto late = call("never", steady_clock::now() + milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorKind::kTimeout);
  expect_alive();
  EXPECT_EQ(count(PartEvent::Kind::kKilled), 1);
}

TEST_F(PartTest, a_cancelled_call_is_told_to_the_child_and_ended_when_it_goes_on) {
  for (auto [request, kind] : {std::pair{"wait", "waited"}, {"never", "cancelled"}}) {
    boost::asio::io_context loop(1);
    boost::asio::cancellation_signal signal;
    std::string answer;
    boost::asio::co_spawn(
        loop, part->call(request, soon()),
        boost::asio::bind_cancellation_slot(
            signal.slot(), [&](std::exception_ptr, base::Result<std::string> made) {
              answer = made ? *made : std::string(to_string(made.error().kind()));
            }));
    boost::asio::steady_timer timer(loop, milliseconds(50));
    timer.async_wait([&](auto) { signal.emit(boost::asio::cancellation_type::terminal); });
    loop.run();
    // Where it was cancelled before it was sent, it never began.
    EXPECT_TRUE(answer == kind || answer == "cancelled") << request << ": " << answer;
  }
  expect_alive();
}

TEST_F(PartTest, tells_how_far_a_call_is) {
  boost::asio::io_context loop(1);
  boost::asio::cancellation_signal signal;
  std::vector<std::string> notes;
  boost::asio::co_spawn(loop,
                        part->call("note", soon(),
                                   [&](const std::string& note) {
                                     notes.push_back(note);
                                     signal.emit(boost::asio::cancellation_type::terminal);
                                   }),
                        boost::asio::bind_cancellation_slot(
                            signal.slot(), [](std::exception_ptr, base::Result<std::string>) {}));
  loop.run();
  EXPECT_EQ(notes, std::vector<std::string>{"half"});
}

TEST_F(PartTest, what_waits_is_bounded) {
  auto small = options();
  small.waiting_bytes = 100;
  auto started = PartClient::start(small);
  ASSERT_TRUE(started);
  part = *std::move(started);
  auto over = call(std::string(101, 'x'));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind(), ErrorKind::kRateLimited);
  expect_alive();
}

TEST_F(PartTest, what_cannot_open_does_not_start) {
  for (auto [opening, kind] :
       {std::pair{"refuse", ErrorKind::kInvalid}, {"die", ErrorKind::kUnavailable}}) {
    auto refused = PartClient::start(options(opening));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), kind) << refused.error().message();
  }
  // Of a later child it is tried again, and the child may know that it is.
  EXPECT_TRUE(PartClient::start(options("die once it is known")));
}

TEST(FrameTest, frames_come_back_in_any_pieces) {
  std::string bytes = encode({FrameKind::kRequest, 1, "one"}) +
                      encode({FrameKind::kCancel, 1, {}}) +
                      encode({FrameKind::kAnswer, std::numeric_limits<std::uint64_t>::max(), "x"});
  for (std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{5}, bytes.size()}) {
    FrameReader reader(3);
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      reader.add(std::string_view(bytes).substr(at, size));
      for (;;) {
        auto frame = reader.next();
        ASSERT_TRUE(frame);
        if (!*frame) break;
        frames.push_back(**std::move(frame));
      }
    }
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[0].payload, "one");
    EXPECT_EQ(frames[1].kind, FrameKind::kCancel);
    EXPECT_EQ(frames[2].id, std::numeric_limits<std::uint64_t>::max());
  }
}

TEST(FrameTest, a_length_is_judged_before_the_bytes_come) {
  for (auto [most, good] : {std::pair{3U, true}, {2U, false}}) {
    FrameReader reader(most);
    reader.add(encode({FrameKind::kAnswer, 1, "one"}).substr(0, 5));
    EXPECT_EQ(reader.next().has_value(), good);
  }
}

}  // namespace

int part_role(int channel) {
  return serve_part(channel, {}, [](const std::string& opening) -> base::Result<PartHandler> {
    if (opening == "refuse") return base::fail(ErrorKind::kInvalid, "refused");
    if (opening == "die") ::_exit(9);
    return PartHandler(handle);
  });
}

}  // namespace tool::isolate
