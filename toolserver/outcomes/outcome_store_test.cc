#include "toolserver/outcomes/outcome_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/child_process.h"

namespace tool::outcomes {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using std::chrono::seconds;

class FixedClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override {
    return base::WallTime(std::chrono::microseconds(micros.load()));
  }
  void pass(std::chrono::microseconds time) { micros += time.count(); }
  std::atomic<std::int64_t> micros = 1'795'251'600'000'000;
};

template <class T>
T run(base::Task<T> task) {
  boost::asio::io_context loop;
  std::optional<T> result;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T value) {
    ASSERT_FALSE(error);
    result.emplace(std::move(value));
  });
  loop.run();
  return std::move(*result);
}

CallName call(std::string id, std::string key = {}, std::string principal = "alice") {
  return {std::move(principal), "files.write", std::move(id), std::move(key), "sha256:00"};
}

Ended answer(std::string text) {
  Ended ended{"ok", {7, std::string(64, 'a'), "node-a", "k", "sig"}, Answer{}, {}};
  ended.answer->result.content.push_back({"text/plain", std::move(text)});
  ended.answer->result.structured = base::json::Value(base::json::Object{{"n", 1e20}});
  ended.answer->time = std::chrono::milliseconds(12);
  ended.answer->bytes = 5;
  ended.answer->redactions = 2;
  return ended;
}

class OutcomeStoreTest : public ::testing::Test {
 protected:
  OutcomeStoreTest() {
    options_.folder = folder_.path() + "/outcomes";
    // The thread of the store: these tests sweep by themselves.
    options_.sweep = std::chrono::hours(1);
    start();
  }
  void start(std::vector<Past> past = {}, base::WallTime since = {}) {
    store_.reset();
    auto opened = OutcomeStore::open(options_, clock_, std::move(past), since);
    ASSERT_TRUE(opened.has_value()) << opened.error().message() << opened.error().detail();
    store_ = std::move(*opened);
  }
  OutcomeStore::Ticket claim(CallName name) {
    auto claimed = store_->claim(std::move(name));
    EXPECT_TRUE(claimed.has_value());
    if (!claimed || !std::holds_alternative<OutcomeStore::Ticket>(*claimed)) return nullptr;
    return std::get<OutcomeStore::Ticket>(*claimed);
  }
  std::optional<Repeat> repeat(CallName name) {
    auto claimed = store_->claim(std::move(name));
    if (!claimed || !std::holds_alternative<Repeat>(*claimed)) return std::nullopt;
    return std::get<Repeat>(*claimed);
  }
  OutcomeStore::Ticket begun(CallName name) {
    auto ticket = claim(std::move(name));
    EXPECT_TRUE(run(store_->begin(ticket)));
    return ticket;
  }
  OutcomeStore::Ticket ask_again(CallName name) {
    auto claimed = store_->claim(std::move(name), {.unknown = Unknown::kAskedAgain});
    EXPECT_TRUE(claimed.has_value());
    if (!claimed || !std::holds_alternative<OutcomeStore::Ticket>(*claimed)) return nullptr;
    return std::get<OutcomeStore::Ticket>(*claimed);
  }
  void done(CallName name, Ended ended) {
    EXPECT_TRUE(run(store_->finish(begun(std::move(name)), std::move(ended))));
  }
  [[nodiscard]] State state(const std::string& id, const std::string& principal = "alice") {
    return store_->look_up(principal, id).state;
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& one : fs::directory_iterator(options_.folder)) {
      if (one.path().extension() == ".json") found.push_back(one.path());
    }
    return found;
  }

  base::testing::TemporaryFolder folder_;
  FixedClock clock_;
  StoreOptions options_;
  std::unique_ptr<OutcomeStore> store_;
};

TEST_F(OutcomeStoreTest, a_second_call_with_a_key_gets_the_outcome_of_the_first) {
  auto ticket = begun(call("one", "k"));
  auto second = repeat(call("two", "k"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->state, State::kRunning);
  EXPECT_EQ(second->request_id, "one");

  ASSERT_TRUE(run(store_->finish(ticket, answer("hello"))));
  second = repeat(call("three", "k"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->state, State::kFinished);
  EXPECT_EQ(second->ended->answer->result.content.at(0).data, "hello");
  EXPECT_EQ(second->ended->receipt.seq, 7U);
}

TEST_F(OutcomeStoreTest, a_key_is_of_one_principal_and_one_tool) {
  done(call("one", "k"), answer("hello"));
  EXPECT_TRUE(claim(call("two", "k", "bob")));
  CallName other = call("three", "k");
  other.tool = "files.delete";
  EXPECT_TRUE(claim(std::move(other)));
}

TEST_F(OutcomeStoreTest, other_arguments_are_refused_whatever_became_of_the_first_call) {
  auto ticket = begun(call("one", "k"));
  CallName other = call("two", "k");
  other.args_hash = "sha256:11";
  for (bool has_ended : {false, true}) {
    if (has_ended) ASSERT_TRUE(run(store_->finish(ticket, answer("hello"))));
    auto claimed = store_->claim(other);
    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Code::kShape);
    EXPECT_TRUE(claimed.error().message.starts_with("p.idem"));
  }
}

TEST_F(OutcomeStoreTest, a_call_that_did_not_begin_leaves_its_key_free) {
  auto waiting = claim(call("one", "k"));
  ASSERT_TRUE(run(store_->release(waiting)));
  CallName other = call("two", "k");
  other.args_hash = "sha256:11";
  auto ticket = begun(std::move(other));
  ASSERT_TRUE(ticket);
  EXPECT_EQ(files().size(), 1U);
  ASSERT_TRUE(run(store_->release(ticket)));
  EXPECT_EQ(files().size(), 0U);
  EXPECT_EQ(state("one"), State::kNever);
  EXPECT_EQ(state("two"), State::kNever);
}

TEST_F(OutcomeStoreTest, tells_each_principal_of_its_own_calls_alone) {
  auto running = begun(call("one"));
  EXPECT_EQ(state("one"), State::kRunning);
  EXPECT_EQ(state("one", "bob"), State::kNever);
  EXPECT_EQ(state("two"), State::kNever);
  ASSERT_TRUE(run(store_->finish(running, answer("hello"))));
  auto seen = store_->look_up("alice", "one");
  EXPECT_EQ(seen.state, State::kFinished);
  EXPECT_EQ(seen.tool, "files.write");
  EXPECT_EQ(seen.ended->status, "ok");
  // Without a key nobody asked for its answer to be kept.
  EXPECT_FALSE(seen.ended->answer);
  EXPECT_EQ(files().size(), 0U);
}

TEST_F(OutcomeStoreTest, a_restart_keeps_answers_and_refusals) {
  done(call("one", "k"), answer("hello"));
  Ended refused{"E_UPSTREAM", {8, std::string(64, 'b'), "", "", ""}, {}, {}};
  refused.fault = refuse(Code::kUpstream, "it failed");
  done(call("two", "l"), refused);
  start();
  auto first = repeat(call("three", "k"));
  ASSERT_TRUE(first && first->ended && first->ended->answer);
  EXPECT_EQ(first->request_id, "one");
  EXPECT_EQ(first->ended->answer->result.content.at(0).data, "hello");
  EXPECT_EQ(*first->ended->answer->result.structured,
            base::json::Value(base::json::Object{{"n", 1e20}}));
  EXPECT_EQ(first->ended->answer->redactions, 2U);
  EXPECT_EQ(first->ended->receipt.signature, "sig");
  auto second = repeat(call("four", "l"));
  ASSERT_TRUE(second && second->ended && second->ended->fault);
  EXPECT_EQ(second->ended->fault->code, Code::kUpstream);
  EXPECT_EQ(second->ended->fault->message, "it failed");
  EXPECT_EQ(state("one"), State::kFinished);
}

TEST_F(OutcomeStoreTest, what_a_restart_cut_off_is_unknown_and_not_made_again) {
  begun(call("one", "k"));
  claim(call("two", "l"));  // Waits for consent: it did not begin.
  start();
  auto second = repeat(call("three", "k"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->state, State::kUnknown);
  EXPECT_EQ(state("one"), State::kUnknown);
  EXPECT_TRUE(claim(call("four", "l")));
  clock_.pass(options_.retention + seconds(1));
  EXPECT_TRUE(claim(call("five", "k")));
}

TEST_F(OutcomeStoreTest, where_the_tool_keeps_keys_an_unknown_call_is_asked_for_again) {
  begun(call("one", "k"));
  start();
  clock_.pass(seconds(3));
  auto again = ask_again(call("two", "k"));
  ASSERT_TRUE(again);
  EXPECT_EQ(store_->age(again), seconds(3));
  for (const char* id : {"one", "two"}) EXPECT_EQ(state(id), State::kRunning) << id;
  EXPECT_EQ(repeat(call("three", "k"))->state, State::kRunning);
  ASSERT_TRUE(run(store_->begin(again)));
  ASSERT_TRUE(run(store_->finish(again, answer("hello"))));
  for (const char* id : {"one", "two"}) EXPECT_EQ(state(id), State::kFinished) << id;
  EXPECT_EQ(repeat(call("four", "k"))->request_id, "one");
  // Its time counts from its end, and then nothing of it is left.
  clock_.pass(options_.retention - seconds(1));
  EXPECT_EQ(files().size(), 1U);
  clock_.pass(seconds(2));
  store_->sweep();
  EXPECT_EQ(files().size(), 0U);
  for (const char* id : {"one", "two"}) EXPECT_EQ(state(id), State::kNever) << id;
}

TEST_F(OutcomeStoreTest, one_that_was_asked_for_again_in_vain_is_unknown_as_before) {
  store_->leave_open(begun(call("one", "k")));
  EXPECT_EQ(state("one"), State::kUnknown);
  for (int i = 0; i < 40; ++i) {
    auto again = ask_again(call("again-" + std::to_string(i), "k"));
    ASSERT_TRUE(again) << i;
    if (i % 2 == 0) {
      ASSERT_TRUE(run(store_->release(again)));
    } else {
      store_->leave_open(again);
    }
    EXPECT_EQ(state("again-" + std::to_string(i)), State::kUnknown);
  }
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(state("again-0"), State::kNever);  // Of many the last are known.
  // Who may not ask again is told what it is, and other arguments are refused.
  EXPECT_EQ(repeat(call("two", "k"))->state, State::kUnknown);
  CallName other = call("three", "k");
  other.args_hash = "sha256:11";
  EXPECT_EQ(store_->claim(other, {.unknown = Unknown::kAskedAgain}).error().code, Code::kShape);
  clock_.pass(options_.retention);
  EXPECT_TRUE(claim(call("four", "k")));
}

TEST_F(OutcomeStoreTest, a_call_of_long_ago_whose_record_may_be_gone_is_not_made) {
  auto asked = [this](std::chrono::milliseconds age, const char* key) {
    return store_->claim(call(key, key), {.age = age}).value();
  };
  EXPECT_EQ(asked(minutes(1), "a").index(), 0U);
  EXPECT_EQ(asked(options_.retention - seconds(6), "b").index(), 0U);
  for (auto age : {options_.retention - seconds(5), options_.retention * 2}) {
    auto told = std::get<Repeat>(asked(age, "c"));
    EXPECT_EQ(told.state, State::kUnknown);
  }
  // Without files nothing is known of a time before this process.
  options_.folder.clear();
  start();
  EXPECT_EQ(asked(seconds(1), "d").index(), 1U);
  clock_.pass(seconds(2));
  EXPECT_EQ(asked(seconds(1), "e").index(), 0U);
}

TEST_F(OutcomeStoreTest, a_file_that_cannot_be_read_still_holds_its_key) {
  done(call("one", "k"), answer("hello"));
  ASSERT_EQ(files().size(), 1U);
  for (std::string text : {"", "{", "{\"version\":2}", "{\"version\":1}", "[]"}) {
    std::ofstream(files().at(0), std::ios::trunc) << text;
    // Its time is that of the file, which the clock of this test does not know.
    fs::last_write_time(files().at(0), fs::file_time_type::clock::now());
    clock_.micros = std::chrono::duration_cast<std::chrono::microseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
    start();
    EXPECT_EQ(store_->notes().size(), 1U) << text;
    auto second = repeat(call("two", "k"));
    ASSERT_TRUE(second) << text;
    EXPECT_EQ(second->state, State::kUnknown);
  }
}

TEST_F(OutcomeStoreTest, nothing_is_kept_longer_than_its_time) {
  done(call("one", "k"), answer("a secret"));
  clock_.pass(options_.retention - seconds(1));
  store_->sweep();
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(state("one"), State::kFinished);
  clock_.pass(seconds(1));
  store_->sweep();
  EXPECT_EQ(files().size(), 0U);
  EXPECT_EQ(state("one"), State::kNever);
  EXPECT_TRUE(claim(call("two", "k")));
}

TEST_F(OutcomeStoreTest, a_call_whose_key_is_forgotten_is_not_said_to_have_never_been) {
  auto began = clock_.now();
  done(call("one", "k"), answer("text"));
  EXPECT_LT(store_->look_up("alice", "other").since, began);
  clock_.pass(options_.retention);
  Seen seen = store_->look_up("alice", "one");
  EXPECT_EQ(seen.state, State::kNever);
  EXPECT_EQ(seen.since, began);  // Only of what came later it is known.
}

TEST_F(OutcomeStoreTest, a_start_removes_what_is_over_its_time) {
  done(call("one", "k"), answer("a secret"));
  store_.reset();
  clock_.pass(options_.retention);
  start();
  EXPECT_EQ(files().size(), 0U);
}

TEST_F(OutcomeStoreTest, its_thread_sweeps) {
  options_.sweep = std::chrono::milliseconds(1);
  start();
  done(call("one", "k"), answer("a secret"));
  clock_.pass(options_.retention);
  auto until = std::chrono::steady_clock::now() + minutes(1);
  while (!files().empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(files().size(), 0U);
}

TEST_F(OutcomeStoreTest, without_room_a_newcomer_is_refused_and_no_key_is_forgotten) {
  options_.records = 4;
  start();
  done(call("a1", "k1"), answer("x"));
  done(call("a2", "k2"), answer("x"));
  auto third = store_->claim(call("a3", "k3"));  // Half of the room.
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kBusy);
  EXPECT_TRUE(third.error().retry_after);
  done(call("b1", "k", "bob"), answer("x"));
  done(call("c1", "k", "carol"), answer("x"));
  EXPECT_FALSE(store_->claim(call("d1", "k", "dora")));
  EXPECT_TRUE(repeat(call("a4", "k1")));
  EXPECT_TRUE(claim(call("d2", "", "dora")));  // Without a key there is always room.
  clock_.pass(options_.retention);
  EXPECT_TRUE(claim(call("a3", "k3")));
}

TEST_F(OutcomeStoreTest, an_answer_that_is_too_large_is_not_kept_but_that_it_ran_is) {
  options_.answer_bytes = 1'000;
  options_.bytes = 2'000;
  start();
  done(call("one", "k"), answer(std::string(2'000, 'x')));
  auto second = repeat(call("two", "k"));
  ASSERT_TRUE(second && second->ended);
  EXPECT_EQ(second->state, State::kFinished);
  EXPECT_FALSE(second->ended->answer);
  EXPECT_FALSE(second->ended->fault);
  // The sum of all is bounded likewise.
  done(call("three", "l"), answer(std::string(400, 'x')));
  done(call("four", "m"), answer(std::string(400, 'x')));
  done(call("five", "n"), answer(std::string(400, 'x')));
  EXPECT_TRUE(repeat(call("six", "l"))->ended->answer);
  EXPECT_FALSE(repeat(call("seven", "n"))->ended->answer);
}

TEST_F(OutcomeStoreTest, calls_without_a_key_make_room_and_say_since_when) {
  options_.records = 4;
  start();
  EXPECT_EQ(store_->look_up("alice", "a0").since, base::WallTime{});
  auto began = clock_.now();
  for (std::string id : {"a0", "a1", "a2"}) {  // A principal has half of the room.
    done(call(id), answer("x"));
    clock_.pass(seconds(1));
  }
  EXPECT_EQ(state("a0"), State::kNever);
  EXPECT_EQ(state("a1"), State::kFinished);
  EXPECT_EQ(store_->look_up("alice", "a0").since, began);
  EXPECT_EQ(store_->look_up("bob", "a0").since, base::WallTime{});
  for (std::string id : {"b0", "b1"}) done(call(id, "", "bob"), answer("x"));
  done(call("c0", "", "carol"), answer("x"));
  EXPECT_EQ(state("a1"), State::kNever);
  EXPECT_EQ(store_->look_up("dora", "d0").since, began + seconds(1));
}

TEST_F(OutcomeStoreTest, takes_over_what_the_trail_says) {
  done(call("with-key", "k"), answer("hello"));
  auto since = clock_.now() - minutes(5);
  Past lost{call("lost"), since + minutes(1), {}};
  Past ended{call("ended"), since + minutes(2), Ended{"tool_error", {}, {}, {}}};
  Past same{call("with-key"), since + minutes(3), {}};
  start({lost, ended, same}, since);
  EXPECT_EQ(state("lost"), State::kUnknown);
  EXPECT_EQ(state("ended"), State::kFinished);
  EXPECT_EQ(store_->look_up("alice", "ended").ended->status, "tool_error");
  EXPECT_TRUE(store_->look_up("alice", "with-key").ended->answer);
  EXPECT_EQ(store_->look_up("alice", "none").since, since);
}

TEST_F(OutcomeStoreTest, a_folder_is_held_by_one_process_and_closed_to_others) {
  auto second = OutcomeStore::open(options_, clock_, {}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), base::ErrorKind::kConflict);
  done(call("one", "pay-2026-0042"), answer("a secret"));
  auto closed = fs::perms::owner_read | fs::perms::owner_write;
  EXPECT_EQ(fs::status(files().at(0)).permissions(), closed);
  EXPECT_EQ(fs::status(options_.folder).permissions(), fs::perms::owner_all);
  // The key itself is nowhere.
  std::ifstream in(files().at(0));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(text.contains("sha256:00"));
  EXPECT_FALSE(text.contains("pay-2026-0042"));
}

TEST_F(OutcomeStoreTest, what_cannot_be_written_does_not_begin) {
  auto ticket = claim(call("one", "k"));
  fs::rename(options_.folder, options_.folder + "-away");
  EXPECT_FALSE(run(store_->begin(ticket)));
  EXPECT_EQ(state("one"), State::kNever);
  fs::rename(options_.folder + "-away", options_.folder);
  EXPECT_TRUE(begun(call("two", "k")));
}

}  // namespace
}  // namespace tool::outcomes
