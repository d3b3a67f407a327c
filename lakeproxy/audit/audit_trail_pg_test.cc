#include <algorithm>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <future>
#include <thread>

#include "lakeproxy/audit/audit_log.h"
#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"

namespace lake::audit {
namespace {

namespace asio = boost::asio;
using base::ErrorKind;

class Trail : public ducklake::LakeFixture {
 protected:
  void SetUp() override {
    open();
    make();
  }
  ~Trail() override { std::fclose(lines_); }

  void make(std::chrono::seconds retention = {}) {
    trail_.emplace(*pool_, tasks_, clock_, base::log::Logger(output_),
                   AuditOptions{.metadata_schema = "lk",
                                .retention = retention,
                                .sum_time = std::chrono::milliseconds(200)});
  }
  static AuditRecord record(std::string object, std::string operation = "load_table") {
    return {.operation = std::move(operation),
            .object = std::move(object),
            .decision = "allowed",
            .detail = R"({"why":"a test"})",
            .principal = "dana"};
  }
  base::Status write(std::string object) { return run(trail_->write(soon(), record(object))); }
  base::json::Array list(AuditFilter filter = {}) {
    auto lines = run(log().list(soon(), std::move(filter)));
    EXPECT_TRUE(lines) << lines.error().detail();
    return lines.value_or(base::json::Array{});
  }
  /// The first line that is wrong, and why; empty: none.
  std::string broken(std::optional<ChainPlace> noted = std::nullopt) {
    auto check = run(log().verify(soon(), noted));
    EXPECT_TRUE(check) << check.error().detail();
    return check->broken ? fmt::format("{} {}", check->broken->id, check->broken->why) : "";
  }
  ChainPlace head() { return run(log().verify(soon(), std::nullopt))->head; }
  AuditLog log() { return {*pool_, "lk"}; }
  /// Lets what runs in the background come to its end.
  void settle() {
    trail_->hurry();
    run(ended());
    make();
  }
  base::Task<int> ended() {
    co_await tasks_.wait();
    co_return 0;
  }
  base::Task<int> pause(std::chrono::milliseconds time) {
    asio::steady_timer timer(loop_, time);
    co_await timer.async_wait(asio::use_awaitable);
    co_return 0;
  }

  base::SystemClock clock_;
  std::FILE* lines_ = std::tmpfile();
  base::log::LogOutput output_{{.descriptor = fileno(lines_)}, clock_};
  base::TaskGroup tasks_{loop_.get_executor()};
  std::optional<AuditTrail> trail_;
};

TEST_F(Trail, a_record_is_there_when_its_write_returns) {
  ASSERT_TRUE(write("sales.orders"));
  const auto lines = list();
  ASSERT_EQ(lines.size(), 1U);
  const auto& line = lines[0].as_object();
  EXPECT_EQ(line.at("id"), 1);
  EXPECT_EQ(line.at("object"), "sales.orders");
  EXPECT_EQ(line.at("principal"), "dana");
  EXPECT_EQ(line.at("detail").at("why"), "a test");
  EXPECT_EQ(line.at("request_id"), "0000000000000001");
  EXPECT_EQ(broken(), "");
}

TEST_F(Trail, records_that_come_together_go_together_and_in_their_order) {
  std::vector<std::future<base::Status>> written;
  for (int i = 0; i < 500; ++i) {
    written.push_back(asio::co_spawn(loop_, trail_->write(soon(), record(fmt::format("t{}", i))),
                                     asio::use_future));
  }
  loop_.restart();
  loop_.run();
  for (auto& one : written) EXPECT_TRUE(one.get());
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_audit"), "500");
  EXPECT_EQ(ask("SELECT bool_and(object = 't' || id - 1) FROM @lakeproxy_audit"), "true");
  EXPECT_LE(std::stoi(ask("SELECT count(DISTINCT xmin::text) FROM @lakeproxy_audit")), 5);
  EXPECT_EQ(broken(), "");
}

TEST_F(Trail, two_servers_write_one_chain) {
  AuditTrail other(*pool_, tasks_, clock_, base::log::Logger(output_), {.metadata_schema = "lk"});
  std::vector<std::future<base::Status>> written;
  for (int i = 0; i < 100; ++i) {
    AuditTrail& one = i % 2 == 0 ? *trail_ : other;
    written.push_back(asio::co_spawn(loop_, one.write(soon(), record("t")), asio::use_future));
  }
  loop_.restart();
  loop_.run();
  for (auto& one : written) EXPECT_TRUE(one.get());
  EXPECT_EQ(head().id, 100);
  EXPECT_EQ(broken(), "");
}

// Reads, at once, of request 1 and so on; whether each was stored.
class Reads : public Trail {
 protected:
  std::vector<base::Status> read(const std::vector<AuditRecord>& records) {
    std::vector<std::future<base::Status>> written;
    for (const AuditRecord& record : records) {
      base::RequestContext context = soon();
      context.request_id = ++last_;
      written.push_back(
          asio::co_spawn(loop_, trail_->write_read(context, record), asio::use_future));
    }
    loop_.restart();
    loop_.run();
    std::vector<base::Status> all;
    for (auto& one : written) all.push_back(one.get());
    return all;
  }
  /// The requests that the trail knows of an object, sorted.
  std::vector<std::string> requests_of(const std::string& object) {
    std::vector<std::string> found;
    for (const auto& line : list({.object = object, .limit = 1000})) {
      found.emplace_back(line.at("request_id").as_string());
      const auto& detail = line.at("detail").as_object();
      const auto* others = detail.if_contains("request_ids");
      if (others == nullptr) continue;
      EXPECT_EQ(detail.at("count").as_int64(),
                static_cast<std::int64_t>(others->as_array().size() + 1));
      EXPECT_GE(detail.at("last").as_string(), line.at("ts").as_string());
      for (const auto& other : others->as_array()) found.emplace_back(other.as_string());
    }
    std::ranges::sort(found);
    return found;
  }
  static std::vector<std::string> numbers(std::uint64_t from, std::uint64_t to) {
    std::vector<std::string> texts;
    for (auto n = from; n <= to; ++n)
      texts.push_back(base::RequestContext{.request_id = n}.id_text());
    return texts;
  }

  std::uint64_t last_ = 0;
};

TEST_F(Reads, that_say_the_same_at_once_are_one_line_that_names_each_request) {
  for (const auto& stored : read(std::vector(300, record("t")))) EXPECT_TRUE(stored);
  EXPECT_EQ(requests_of("t"), numbers(1, 300));
  EXPECT_LE(list().size(), 2U);
  EXPECT_EQ(list().back().at("detail").at("why"), "a test") << "and what they say stands";
  EXPECT_EQ(broken(), "");
}

TEST_F(Reads, that_come_one_after_the_other_are_lines_of_their_own) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(read({record("t")}).front());
  EXPECT_EQ(list().size(), 3U);
  EXPECT_FALSE(list().front().at("detail").as_object().contains("count"));
}

TEST_F(Reads, that_differ_in_anything_are_never_one_line) {
  std::vector<AuditRecord> all(8, record("t"));
  all[1].object = "u";
  all[2].principal = "eve";
  all[3].decision = "unmasked";
  all[4].detail = R"({"why":"another"})";
  all[5].masked_cols = {"ssn"};
  all[6].applied_policies = {"m"};
  all[7].actor = "bot";
  for (const auto& stored : read(all)) EXPECT_TRUE(stored);
  EXPECT_EQ(list().size(), all.size());
  EXPECT_EQ(broken(), "");
}

TEST_F(Reads, fill_more_lines_than_one_without_losing_a_request) {
  for (const auto& stored : read(std::vector(1800, record("t")))) EXPECT_TRUE(stored);
  EXPECT_EQ(requests_of("t"), numbers(1, 1800));
  EXPECT_EQ(ask("SELECT max(length(detail::text)) < 16000 FROM @lakeproxy_audit"), "true");
  EXPECT_EQ(broken(), "");
}

TEST_F(Reads, beyond_what_may_wait_are_refused_and_not_forgotten) {
  const auto all = read(std::vector(3000, record("t")));
  const auto stored = std::ranges::count_if(all, [](const base::Status& one) { return bool(one); });
  EXPECT_GE(stored, 2048);
  for (const base::Status& one : all) {
    if (!one) EXPECT_EQ(one.error().kind(), ErrorKind::kUnavailable);
  }
  EXPECT_EQ(requests_of("t").size(), static_cast<std::size_t>(stored)) << "each that was answered";
}

TEST_F(Reads, are_not_answered_where_they_cannot_be_stored) {
  ASSERT_TRUE(write("before"));
  exec("ALTER TABLE lakeproxy_audit RENAME TO lakeproxy_elsewhere");
  for (const auto& stored : read(std::vector(50, record("t")))) {
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().kind(), ErrorKind::kUnavailable);
  }
  exec("ALTER TABLE lakeproxy_elsewhere RENAME TO lakeproxy_audit");
  EXPECT_TRUE(read({record("u")}).front());
  EXPECT_EQ(requests_of("t").size(), 0U);
  EXPECT_EQ(broken(), "");
}

TEST_F(Reads, find_the_newest_line_that_another_server_wrote) {
  AuditTrail other(*pool_, tasks_, clock_, base::log::Logger(output_), {.metadata_schema = "lk"});
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(read({record("ours")}).front());
    ASSERT_TRUE(run(other.write(soon(), record("theirs"))));
  }
  EXPECT_EQ(ask("SELECT string_agg(object, ' ' ORDER BY id) FROM @lakeproxy_audit"),
            "ours theirs ours theirs ours theirs ours theirs");
  EXPECT_EQ(broken(), "");
}

TEST_F(Reads, of_clients_that_are_answered_together_come_into_one_insert_again) {
  constexpr std::size_t kClients = 8, kTimes = 50;
  auto again = [this](std::uint64_t client) -> base::Task<std::size_t> {
    std::size_t stored = 0;
    for (std::size_t n = 0; n < kTimes; ++n) {
      base::RequestContext context = soon();
      context.request_id = client * kTimes + n + 1;
      AuditRecord read{.operation = "load_table", .object = "t", .decision = "masked"};
      if (co_await trail_->write_read(context, std::move(read))) ++stored;
    }
    co_return stored;
  };
  std::vector<std::future<std::size_t>> clients;
  for (std::size_t n = 0; n < kClients; ++n) {
    clients.push_back(asio::co_spawn(loop_, again(n), asio::use_future));
  }
  loop_.restart();
  loop_.run();
  for (auto& client : clients) EXPECT_EQ(client.get(), kTimes);
  EXPECT_EQ(requests_of("t"), numbers(1, kClients * kTimes));
  // The first is alone, and the others wait for it. Two groups in turn would make twice as many.
  EXPECT_LE(std::stoul(ask("SELECT count(*) FROM @lakeproxy_audit")), kTimes * 3 / 2);
  EXPECT_EQ(broken(), "");
}

// One event loop of several, with what is its own.
class Loop {
 public:
  Loop(std::unique_ptr<base::pg::Pool> pool, const base::Clock& clock, base::log::LogOutput& output,
       std::shared_ptr<AuditBatches> batches)
      : pool_(std::move(pool)),
        trail_(*pool_, tasks_, clock, base::log::Logger(output), {.metadata_schema = "lk"},
               std::move(batches)) {}

  /// So many at a time, each time once the ones before are stored. Returns how many were.
  std::size_t read(std::size_t rounds, std::size_t at_once, base::RequestContext context) {
    std::size_t stored = 0;
    for (std::size_t n = 0; n < rounds; ++n) {
      std::vector<std::future<base::Status>> written;
      for (std::size_t i = 0; i < at_once; ++i) {
        ++context.request_id;
        AuditRecord record{.operation = "load_table", .object = "t", .decision = "masked"};
        written.push_back(
            asio::co_spawn(loop_, trail_.write_read(context, std::move(record)), asio::use_future));
      }
      loop_.restart();
      // What another loop writes for this one is no work of this one's.
      auto busy = asio::make_work_guard(loop_);
      for (auto& one : written) {
        while (one.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
          loop_.run_one_for(std::chrono::milliseconds(100));
        }
        if (one.get()) ++stored;
      }
      busy.reset();
    }
    loop_.run();
    return stored;
  }

 private:
  asio::io_context loop_;
  base::TaskGroup tasks_{loop_.get_executor()};
  std::unique_ptr<base::pg::Pool> pool_;
  AuditTrail trail_;
};

TEST_F(Reads, of_several_event_loops_share_inserts_and_each_is_stored_before_it_is_answered) {
  constexpr std::size_t kLoops = 3, kRounds = 20, kAtOnce = 40;
  auto batches = std::make_shared<AuditBatches>();
  std::array<std::size_t, kLoops> stored{};
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < kLoops; ++n) {
    threads.emplace_back([&, n] {
      base::RequestContext context = soon();
      context.request_id = n * kRounds * kAtOnce;
      Loop loop(make_pool(), clock_, output_, batches);
      stored[n] = loop.read(kRounds, kAtOnce, context);
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t each : stored) EXPECT_EQ(each, kRounds * kAtOnce);
  EXPECT_EQ(requests_of("t"), numbers(1, kLoops * kRounds * kAtOnce));
  EXPECT_EQ(broken(), "");
}

TEST_F(Trail, a_database_that_is_away_fails_the_request) {
  exec("ALTER TABLE lakeproxy_audit RENAME TO lakeproxy_elsewhere");
  auto refused = write("t");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
  exec("ALTER TABLE lakeproxy_elsewhere RENAME TO lakeproxy_audit");
  EXPECT_TRUE(write("t"));
  EXPECT_EQ(broken(), "");
}

TEST_F(Trail, lists_the_newest_first_and_by_what_is_asked_for) {
  for (const char* object : {"a", "b", "a", "c"}) ASSERT_TRUE(write(object));
  AuditRecord other = record("a", "drop_table");
  other.principal = "eve";
  ASSERT_TRUE(run(trail_->write(soon(), other)));
  auto ids = [&](AuditFilter filter) {
    std::string text;
    for (const auto& line : list(std::move(filter)))
      text += fmt::format("{} ", line.at("id").as_int64());
    return text;
  };
  EXPECT_EQ(ids({}), "5 4 3 2 1 ");
  EXPECT_EQ(ids({.limit = 2}), "5 4 ");
  EXPECT_EQ(ids({.before = 4, .limit = 2}), "3 2 ");
  EXPECT_EQ(ids({.object = "a"}), "5 3 1 ");
  EXPECT_EQ(ids({.principal = "dana", .object = "a"}), "3 1 ");
  EXPECT_EQ(ids({.operation = "drop_table"}), "5 ");
  EXPECT_EQ(ids({.principal = "' OR true --"}), "");
}

TEST_F(Trail, each_way_to_tamper_is_found_and_the_first_line_is_named) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(write("t"));
  const ChainPlace noted = head();
  EXPECT_EQ(broken(noted), "");
  struct Case {
    const char* tamper;
    const char* found;
  };
  for (const Case& one : {
           Case{"UPDATE lakeproxy_audit SET principal = 'eve' WHERE id = 3", "3 was changed"},
           Case{"UPDATE lakeproxy_audit SET detail = '{\"why\":\"b\"}' WHERE id = 2",
                "2 was changed"},
           Case{"UPDATE lakeproxy_audit SET ts = ts + interval '1 us' WHERE id = 4",
                "4 was changed"},
           Case{"UPDATE lakeproxy_audit SET hash = sha256('x') WHERE id = 5", "5 was changed"},
           Case{"UPDATE lakeproxy_audit SET previous_hash = sha256('x') WHERE id = 2",
                "2 does not follow the line before it"},
           Case{"DELETE FROM lakeproxy_audit WHERE id = 3", "3 is not there"},
           Case{"DELETE FROM lakeproxy_audit WHERE id = 1", "1 is not there"},
           Case{"DELETE FROM lakeproxy_audit WHERE id = 5", "5 is not there"},
           Case{"DELETE FROM lakeproxy_audit", "1 is not there"},
           Case{"DELETE FROM lakeproxy_audit WHERE id = 5; UPDATE lakeproxy_audit_head SET id = 4",
                "4 is not the newest line that was written"},
       }) {
    exec(
        "CREATE TABLE kept AS TABLE lakeproxy_audit; CREATE TABLE kept_head AS TABLE "
        "lakeproxy_audit_head");
    exec(one.tamper);
    EXPECT_EQ(broken(), one.found) << one.tamper;
    exec(
        "TRUNCATE lakeproxy_audit; INSERT INTO lakeproxy_audit TABLE kept; DELETE FROM "
        "lakeproxy_audit_head; "
        "INSERT INTO lakeproxy_audit_head TABLE kept_head; DROP TABLE kept, kept_head");
    ASSERT_EQ(broken(), "") << one.tamper;
  }
  // Whoever writes a whole new end is found by a place that was noted elsewhere.
  exec(
      "DELETE FROM lakeproxy_audit WHERE id = 5; UPDATE lakeproxy_audit_head h SET id = 4, hash = "
      "a.hash "
      "FROM lakeproxy_audit a WHERE a.id = 4");
  EXPECT_EQ(broken(), "");
  EXPECT_EQ(broken(noted), "5 is not there");
  ASSERT_TRUE(write("another"));
  EXPECT_EQ(broken(), "");
  EXPECT_EQ(broken(noted), "5 is not the line that was noted");
}

TEST_F(Trail, old_lines_go_from_the_front_and_the_rest_is_one_chain) {
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(write("t"));
  const ChainPlace noted = head();
  // The clock of a server may be behind: a line that is old by its time stays behind a newer one.
  exec("DROP INDEX lakeproxy_audit_object");
  const base::WallTime now = clock_.now();
  EXPECT_EQ(run(log().purge(soon(), now - std::chrono::hours(1))).value(), 0);
  ASSERT_TRUE(write("t"));
  EXPECT_EQ(run(log().purge(soon(), clock_.now() + std::chrono::hours(1))).value(), 7);
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_audit"), "0");
  EXPECT_EQ(broken(), "");
  ASSERT_TRUE(write("t"));
  EXPECT_EQ(head().id, 8);
  EXPECT_EQ(broken(noted), "") << "older than what is kept";
  exec("DELETE FROM lakeproxy_audit");
  EXPECT_EQ(broken(), "8 is not there");
}

TEST_F(Trail, only_what_is_before_the_first_newer_line_is_old) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(write("t"));
  const base::WallTime limit = clock_.now();
  ASSERT_TRUE(write("t"));
  EXPECT_EQ(run(log().purge(soon(), limit)).value(), 3);
  EXPECT_EQ(ask("SELECT min(id) FROM @lakeproxy_audit"), "4");
  EXPECT_EQ(broken(), "");
}

TEST_F(Trail, old_lines_are_removed_by_the_way) {
  ASSERT_TRUE(write("old"));
  run(pause(std::chrono::milliseconds(1100)));
  make(std::chrono::seconds(1));
  ASSERT_TRUE(write("new"));
  run(ended());
  EXPECT_EQ(ask("SELECT string_agg(object, ' ') FROM @lakeproxy_audit"), "new");
  EXPECT_EQ(broken(), "");
}

TEST_F(Trail, equal_refusals_are_counted_and_others_are_not_lost) {
  AuditRecord guess{
      .operation = "token_refused", .object = "unknown: invalid_client", .decision = "denied"};
  for (int i = 0; i < 5000; ++i) {
    guess.detail = fmt::format(R"({{"peer":"192.0.2.{}"}})", i % 250);
    trail_->write_summed(soon(), guess);
  }
  AuditRecord other = guess;
  other.object = "etl: invalid_client";
  trail_->write_summed(soon(), other);
  settle();
  EXPECT_EQ(ask("SELECT sum(coalesce((detail->>'count')::int, 1)) FROM @lakeproxy_audit WHERE "
                "object LIKE 'unk%'"),
            "5000");
  EXPECT_LE(std::stoi(ask("SELECT count(*) FROM @lakeproxy_audit WHERE object LIKE 'unk%'")), 3);
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_audit WHERE object LIKE 'etl%'"), "1");
  EXPECT_EQ(broken(), "");
}

TEST_F(Trail, refusals_of_many_kinds_take_bounded_room) {
  for (int i = 0; i < 10'000; ++i) {
    AuditRecord denied = record(fmt::format("table a.t{}", i));
    denied.decision = "denied";
    trail_->write_summed(soon(), denied);
  }
  settle();
  EXPECT_EQ(ask("SELECT sum(coalesce((detail->>'count')::int, 1)) FROM @lakeproxy_audit"), "10000");
  EXPECT_LE(std::stoi(ask("SELECT count(*) FROM @lakeproxy_audit")), 70);
}

TEST_F(Trail, refusals_wait_in_memory_while_the_database_is_away) {
  exec("ALTER TABLE lakeproxy_audit RENAME TO lakeproxy_elsewhere");
  trail_->write_summed(soon(), record("t"));
  loop_.restart();
  loop_.run_for(std::chrono::milliseconds(500));
  exec("ALTER TABLE lakeproxy_elsewhere RENAME TO lakeproxy_audit");
  run(ended());
  EXPECT_EQ(ask("SELECT object FROM @lakeproxy_audit"), "t");
}

TEST_F(Trail, a_place_of_the_chain_is_read_as_it_is_written) {
  ASSERT_TRUE(write("t"));
  const ChainPlace place = head();
  EXPECT_EQ(chain_place_of(to_text(place)).value(), place);
  for (const char* wrong : {"", "1", ":", "1:", "x:00", "1:00", "-1:00"}) {
    EXPECT_FALSE(chain_place_of(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace lake::audit
