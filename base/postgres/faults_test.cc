#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/postgres/fixture_test.h"
#include "base/postgres/proxy_test.h"

namespace base::pg {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class FaultsTest : public PoolFixture {
 protected:
  /// Runs the loop until the call ends; the proxy's work goes on.
  template <class T>
  T run_beside(Task<T> task) {
    std::optional<T> result;
    auto done = [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    };
    asio::co_spawn(loop_, std::move(task), done);
    loop_.restart();
    while (!result) loop_.run_one();
    return std::move(*result);
  }

  /// Starts the call, and cancels it as soon as `when` says so.
  template <class T>
  T run_cancelled(Task<T> task, const std::function<bool()>& when) {
    asio::cancellation_signal signal;
    std::optional<T> result;
    auto done = [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    };
    asio::co_spawn(loop_, std::move(task), asio::bind_cancellation_slot(signal.slot(), done));
    loop_.restart();
    do {
      loop_.poll();
    } while (!when());
    signal.emit(asio::cancellation_type::terminal);
    loop_.run();
    return std::move(result.value());
  }

  /// Whether another session runs a statement that holds `marker`.
  static bool runs_on_server(std::string_view marker) {
    auto rows = ask({{"SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                      "AND state = 'active' AND query LIKE '%' || $1 || '%'"},
                     {param(marker)}});
    return rows && (*rows)->int64(0, 0) > 0;
  }

  /// A change that takes half a minute.
  [[nodiscard]] Query slow_insert() const {
    return {{fmt::format("INSERT INTO {}.items SELECT 7 FROM pg_sleep(30)", schema_)}, {}};
  }
};

TEST_F(FaultsTest, a_restart_of_the_server_is_survived) {
  auto& server = testing::PostgresServer::shared();
  ASSERT_TRUE(run(pool_->query(soon(), insert(1))));
  auto begun = run(pool_->begin(soon(), queries(insert(2))));
  ASSERT_TRUE(begun);
  ASSERT_TRUE(run(pool_->query(soon(), count())));
  server.stop();
  auto away = run(pool_->query(soon(), count()));
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().kind(), ErrorKind::kUnavailable);
  auto lost = run(begun->transaction->run_and_commit(queries(insert(3))));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind(), ErrorKind::kUnavailable) << "nothing was sent";
  ASSERT_TRUE(server.start());
  EXPECT_TRUE(run(pool_->query(soon(), insert(4))));
  EXPECT_EQ(stored(), 2);
  EXPECT_EQ(pool_->use().in_use, 0u);
}

TEST_F(FaultsTest, idle_connections_that_died_are_replaced_unseen) {
  ASSERT_TRUE(run(pool_->query(soon(), count())));
  auto& server = testing::PostgresServer::shared();
  for (bool hard : {false, true}) {
    if (hard) {
      server.kill();
    } else {
      server.stop();
    }
    auto started = server.start();
    ASSERT_TRUE(started) << started.error().detail();
    EXPECT_TRUE(run(pool_->query(soon(), count()))) << hard;
    EXPECT_EQ(pool_->use().idle, 1u);
    ASSERT_TRUE(run(pool_->begin(soon(), queries(count())))) << hard;
  }
}

TEST_F(FaultsTest, a_session_ended_in_a_statement_has_not_changed_anything) {
  std::string kill_self = "SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(5)";
  auto rows = run(pool_->query(soon(), {{kill_self}, {}}));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(rows.error().detail(), ::testing::HasSubstr("57P01"));
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun) << begun.error().detail();
  rows = run(pool_->query(
      soon(), {{fmt::format("INSERT INTO {}.items SELECT 5 WHERE "
                            "pg_terminate_backend(pg_backend_pid()) AND pg_sleep(5) IS NOT NULL",
                            schema_)},
               {}}));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kUnavailable) << "57P01 came before the answer";
  auto committed = run(begun->transaction->run_and_commit(queries({{kill_self}, {}})));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(stored(), 0);
  EXPECT_TRUE(run(pool_->query(soon(), insert(1))));
}

TEST_F(FaultsTest, a_cut_at_any_byte_of_a_commit_is_never_misreported) {
  int unknown = 0;
  int committed = 0;
  for (std::size_t cut = 0;; cut += 7) {
    asio::io_context& loop = loop_;
    CuttingProxy proxy(loop);
    auto pool = Pool::create(proxy.options());
    auto id = static_cast<std::int64_t>(cut);
    auto before = run_beside(pool->begin(soon(), queries(count())));
    ASSERT_TRUE(before) << before.error().detail();
    std::int64_t rows_before = before->rows[0]->int64(0, 0);
    proxy.take_sent();
    if (cut > 0) proxy.cut_after_sent(cut);
    auto result = run_beside(before->transaction->run_and_commit(queries(insert(id))));
    std::size_t sent = proxy.take_sent();
    pool.reset();
    proxy.close();
    loop.restart();
    loop.run();
    // The server may still be at work on what it got.
    while (runs_on_server("COMMIT")) continue;
    bool stored_it = stored() == rows_before + 1;
    if (result) {
      EXPECT_TRUE(stored_it) << cut;
      ++committed;
      if (cut > 0) {
        EXPECT_LT(sent, cut);
        break;
      }
      continue;
    }
    EXPECT_EQ(result.error().kind(), ErrorKind::kOutcomeUnknown) << cut;
    ++unknown;
  }
  EXPECT_GT(unknown, 3);
  EXPECT_EQ(committed, 2);
}

TEST_F(FaultsTest, a_lost_answer_to_commit_is_unknown_and_committed) {
  CuttingProxy proxy(loop_);
  auto pool = Pool::create(proxy.options());
  auto begun = run_beside(pool->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  proxy.cut_at_answer();
  auto result = run_beside(begun->transaction->run_and_commit(queries(insert(2))));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kOutcomeUnknown);
  while (runs_on_server("COMMIT")) continue;
  EXPECT_EQ(stored(), 2);
  proxy.close();
}

TEST_F(FaultsTest, a_cut_before_a_large_commit_went_out_is_certainly_not_committed) {
  for (std::size_t cut : {std::size_t{1}, std::size_t{20'000}, std::size_t{4} << 20}) {
    CuttingProxy proxy(loop_);
    auto pool = Pool::create(proxy.options());
    auto begun = run_beside(pool->begin(soon(), queries(insert(1))));
    ASSERT_TRUE(begun);
    proxy.cut_after_sent(cut);
    Query large{{fmt::format("INSERT INTO {}.items VALUES (2, $1)", schema_)},
                {param(std::string(std::size_t{32} << 20, 'x'))}};
    auto result = run_beside(begun->transaction->run_and_commit(queries(large)));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind(), ErrorKind::kUnavailable) << cut;
    EXPECT_EQ(stored(), 0);
    proxy.close();
  }
}

TEST_F(FaultsTest, a_lost_answer_tells_reads_from_writes) {
  for (bool write : {false, true}) {
    CuttingProxy proxy(loop_);
    auto pool = Pool::create(proxy.options());
    ASSERT_TRUE(run_beside(pool->query(soon(), count())));
    proxy.cut_at_answer();
    auto rows = run_beside(pool->query(soon(), write ? insert(1) : count()));
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().kind(), write ? ErrorKind::kOutcomeUnknown : ErrorKind::kUnavailable);
    proxy.close();
  }
}

TEST_F(FaultsTest, a_deadline_ends_the_wait_and_the_connection) {
  auto rows = run(pool_->query(within(30ms), {{"SELECT pg_sleep(30)"}, {}}));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(pool_->use().idle, 0u);
  // Connecting alone may take longer than that on a busy machine.
  ASSERT_TRUE(run(pool_->query(soon(), count())));
  rows = run(pool_->query(within(30ms), slow_insert()));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kOutcomeUnknown);
  auto options = server_options();
  options.commit_answer_time = 50ms;
  pool_ = Pool::create(options);
  auto begun = run(pool_->begin(within(200ms), queries(insert(1))));
  ASSERT_TRUE(begun);
  auto result = run(begun->transaction->run_and_commit(queries({{"SELECT pg_sleep(30)"}, {}})));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kOutcomeUnknown);
  rows = run(pool_->query(within(0ms), insert(5)));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(pool_->use().in_use, 0u);
  EXPECT_TRUE(run(pool_->query(soon(), count())));
}

TEST_F(FaultsTest, the_answer_to_commit_is_awaited_beyond_the_deadline) {
  CuttingProxy proxy(loop_);
  auto pool = Pool::create(proxy.options());
  auto begun = run_beside(pool->begin(within(150ms), queries(insert(1))));
  ASSERT_TRUE(begun);
  proxy.delay_answer(400ms);
  EXPECT_TRUE(run_beside(begun->transaction->run_and_commit(queries(insert(2)))));
  // What has not been sent when the deadline passes is not sent.
  begun = run_beside(pool->begin(within(50ms), queries(insert(3))));
  ASSERT_TRUE(begun);
  asio::steady_timer late(loop_, 80ms);
  run_beside(late.async_wait(asio::as_tuple(asio::use_awaitable)));
  auto result = run_beside(begun->transaction->run_and_commit({}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kTimeout);
  // Reads end with COMMIT as well, and nobody waits for theirs.
  ASSERT_TRUE(run_beside(pool->query(soon(), count())));
  proxy.delay_answer(400ms);
  auto read = run_beside(pool->read(within(100ms), queries(count())));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::kTimeout);
  proxy.close();
  EXPECT_EQ(stored(), 2);
}

TEST_F(FaultsTest, a_transaction_waits_as_long_as_it_was_extended_to) {
  for (bool extended : {false, true}) {
    auto begun = run(pool_->begin(within(100ms), queries(count())));
    ASSERT_TRUE(begun);
    if (extended) begun->transaction->extend(soon().deadline);
    begun->transaction->extend(within(0ms).deadline);  // Never shorter.
    auto slow = run(begun->transaction->run(queries({{"SELECT pg_sleep(0.3)"}, {}})));
    EXPECT_EQ(slow.has_value(), extended);
  }
}

TEST_F(FaultsTest, a_client_that_freezes_loses_its_locks) {
  ASSERT_TRUE(run(pool_->query(soon(), insert(1))));
  const Query lock{{fmt::format("SELECT 1 FROM {}.items WHERE id = 1 FOR UPDATE", schema_)}, {}};
  // Between two messages; and in the middle of one that is too long to leave at once.
  for (std::size_t sent : {std::size_t{0}, std::size_t{40'000}}) {
    CuttingProxy proxy(loop_);
    auto options = proxy.options();
    options.idle_transaction_time = 300ms;
    auto frozen = Pool::create(options);
    auto begun = run_beside(frozen->begin(soon(), queries(lock)));
    ASSERT_TRUE(begun);
    std::optional<Result<std::vector<RowsPtr>>> result;
    if (sent > 0) {
      proxy.stall_after_sent(sent);
      Query large{{fmt::format("INSERT INTO {}.items VALUES (2, $1)", schema_)},
                  {param(std::string(std::size_t{32} << 20, 'x'))}};
      asio::co_spawn(loop_, begun->transaction->run_and_commit(queries(insert(3), large)),
                     [&](std::exception_ptr, auto done) { result.emplace(std::move(done)); });
    }
    EXPECT_TRUE(run_beside(pool_->begin(within(5s), queries(lock)))) << sent;
    if (sent == 0) {
      result.emplace(run_beside(begun->transaction->run_and_commit(queries(insert(3)))));
    }
    proxy.close();
    while (!result) loop_.run_one();
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().kind(), ErrorKind::kUnavailable) << "certainly not committed";
    EXPECT_EQ(stored(), 1);
  }
}

TEST_F(FaultsTest, both_sides_notice_a_peer_that_is_gone) {
  auto options = server_options();
  options.peer_time = 12s;
  auto pool = Pool::create(options);
  auto rows = run(pool->query(soon(), {{"SELECT current_setting('tcp_user_timeout'), "
                                        "current_setting('tcp_keepalives_idle')::int + "
                                        "current_setting('tcp_keepalives_interval')::int * "
                                        "current_setting('tcp_keepalives_count')::int, "
                                        "current_setting('idle_in_transaction_session_timeout')"},
                                       {}}));
  ASSERT_TRUE(rows) << rows.error().detail();
  EXPECT_EQ((*rows)->text(0, 0), "12000");
  EXPECT_LE((*rows)->int64(0, 1), 12);
  EXPECT_EQ((*rows)->text(0, 2), "10s");
}

TEST_F(FaultsTest, of_several_hosts_the_first_that_takes_writes_is_kept) {
  // One that is not there, one that takes the connection and says nothing, the server.
  boost::asio::ip::tcp::acceptor silent(loop_, {boost::asio::ip::address_v4::loopback(), 0});
  boost::asio::ip::tcp::acceptor closed(loop_, {boost::asio::ip::address_v4::loopback(), 0});
  const auto no_port = closed.local_endpoint().port();
  closed.close();
  auto options = server_options();
  options.host = "127.0.0.1,127.0.0.1,localhost";
  options.port = fmt::format("{},{},{}", no_port, silent.local_endpoint().port(), options.port);
  options.connect_time = 900ms;
  auto pool = Pool::create(options);
  auto rows = run(pool->query(soon(), count()));
  EXPECT_TRUE(rows) << rows.error().detail();

  // A server that is read-only for us is passed over, and is good enough alone.
  ASSERT_TRUE(run(pool_->script(soon(),
                                "DROP ROLE IF EXISTS reads_only; CREATE ROLE reads_only "
                                "LOGIN SUPERUSER; ALTER ROLE reads_only SET "
                                "default_transaction_read_only = on")));
  options = server_options();
  options.user = "reads_only";
  EXPECT_TRUE(run(Pool::create(options)->query(soon(), count())));
  options.host = "127.0.0.1,localhost";
  auto refused = run(Pool::create(options)->query(soon(), count()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);

  options.port = "1,2,3";
  auto mismatch = run(Pool::create(options)->query(soon(), count()));
  ASSERT_FALSE(mismatch);
  EXPECT_EQ(mismatch.error().kind(), ErrorKind::kUnavailable);
}

TEST_F(FaultsTest, a_server_that_takes_no_writes_is_unavailable_and_left) {
  auto options = server_options();
  options.connections = 1;
  auto pool = Pool::create(options);
  ASSERT_TRUE(run(pool->script(soon(),
                               "ALTER DATABASE postgres SET default_transaction_read_only "
                               "= on")));
  auto begun = run(pool->begin(soon(), queries(insert(1))));
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(pool->use().idle, 0U) << "another connection may find another server";
  auto rows = run(pool->query(soon(), insert(1)));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kUnavailable);
  EXPECT_TRUE(run(pool->query(soon(), count()))) << "reads go on";
  ASSERT_TRUE(run(pool->script(soon(),
                               "SET transaction_read_only = off; ALTER DATABASE "
                               "postgres RESET default_transaction_read_only")));
  pool->close();
  EXPECT_TRUE(run(pool_->query(soon(), insert(1))));
}

TEST_F(FaultsTest, the_server_ends_what_runs_too_long) {
  auto options = server_options();
  options.statement_time = 30ms;
  auto pool = Pool::create(options);
  auto rows = run(pool->query(soon(), slow_insert()));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(pool->use().idle, 1u);
}

TEST_F(FaultsTest, a_cancelled_caller_is_told_and_its_connection_closed) {
  auto rows = run_cancelled(pool_->query(soon(), {{"SELECT pg_sleep(31)"}, {}}),
                            [] { return runs_on_server("sleep(31)"); });
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kCancelled);
  EXPECT_EQ(pool_->use().idle, 0u);
  EXPECT_EQ(pool_->use().in_use, 0u);
  EXPECT_TRUE(run(pool_->query(soon(), count())));
}

TEST_F(FaultsTest, a_cancelled_commit_is_unknown) {
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  auto rows =
      run_cancelled(begun->transaction->run_and_commit(queries({{"SELECT pg_sleep(32)"}, {}})),
                    [] { return runs_on_server("sleep(32)"); });
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kOutcomeUnknown);
  EXPECT_EQ(pool_->use().in_use, 0u);
}

TEST_F(FaultsTest, a_cancelled_waiter_leaves_the_row) {
  auto options = server_options();
  options.connections = 1;
  auto pool = Pool::create(options);
  auto held = run(pool->begin(soon(), {}));
  ASSERT_TRUE(held);
  auto rows = run_cancelled(pool->query(soon(), count()), [] { return true; });
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kCancelled);
  run(held->transaction->rollback());
  EXPECT_TRUE(run(pool->query(soon(), count())));
}

TEST_F(FaultsTest, close_ends_calls_under_way) {
  asio::steady_timer timer(loop_, 30ms);
  timer.async_wait([&](boost::system::error_code) { pool_->close(); });
  auto rows = run(pool_->query(soon(), {{"SELECT pg_sleep(30)"}, {}}));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(pool_->use().in_use, 0u);
}

TEST_F(FaultsTest, a_loop_that_ends_early_leaves_nothing_behind) {
  auto loop = std::make_unique<asio::io_context>();
  auto pool = Pool::create(server_options());
  asio::co_spawn(*loop, pool->begin(soon(), queries(insert(1))),
                 [](auto, auto begun) { EXPECT_TRUE(begun); });
  loop->run();
  loop->restart();
  asio::co_spawn(*loop, pool->query(soon(), slow_insert()), [](auto, auto) {});
  loop->poll();
  ASSERT_EQ(pool->use().in_use, 1u);
  pool.reset();
  loop.reset();
  EXPECT_EQ(stored(), 0);
}

}  // namespace
}  // namespace base::pg
