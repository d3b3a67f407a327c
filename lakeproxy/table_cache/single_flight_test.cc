#include "lakeproxy/table_cache/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "lakeproxy/table_cache/loaded_tables.h"

namespace lake::publish {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

base::RequestContext within(milliseconds time) {
  base::RequestContext context;
  context.deadline = steady_clock::now() + time;
  return context;
}

base::Task<void> pause() {
  asio::steady_timer timer(co_await asio::this_coro::executor, milliseconds(1));
  co_await timer.async_wait(asio::use_awaitable);
}

// What the holders of leases do, and what they see of each other.
struct Scene {
  SingleFlight single_flight;
  std::atomic<int> inside = 0;
  std::atomic<int> most_inside = 0;
  std::atomic<int> done = 0;
  std::atomic<int> refused = 0;
  std::atomic<int> found = 0;
};

base::Task<void> hold_lease(Scene* scene, std::string key, base::RequestContext context) {
  auto lease = co_await scene->single_flight.take(context, std::move(key));
  if (!lease) {
    ++scene->refused;
    co_return;
  }
  if (lease->result()) ++scene->found;
  const int now = ++scene->inside;
  if (now > scene->most_inside) scene->most_inside = now;
  co_await pause();
  lease->set_result(std::make_shared<const CacheEntry>());
  --scene->inside;
  ++scene->done;
}

void spawn(asio::io_context& loop, Scene& scene, std::string key, milliseconds time) {
  asio::co_spawn(loop, hold_lease(&scene, std::move(key), within(time)), asio::detached);
}

TEST(SingleFlight, one_of_all_event_loops_has_it_and_each_gets_it) {
  constexpr int kLoops = 4;
  constexpr int kEach = 25;
  Scene scene;
  std::vector<std::unique_ptr<asio::io_context>> loops;
  for (int i = 0; i < kLoops; ++i) {
    loops.push_back(std::make_unique<asio::io_context>(1));
    for (int j = 0; j < kEach; ++j) spawn(*loops.back(), scene, "t", milliseconds(60'000));
  }
  std::vector<std::jthread> threads;
  for (auto& loop : loops) {
    threads.emplace_back([&loop, &scene] {
      // A loop without work waits for a post of another one.
      auto work = asio::make_work_guard(*loop);
      while (scene.done < kLoops * kEach) loop->run_for(milliseconds(10));
    });
  }
  threads.clear();
  EXPECT_EQ(scene.done, kLoops * kEach);
  EXPECT_EQ(scene.most_inside, 1);
  EXPECT_EQ(scene.found, kLoops * kEach - 1) << "each but the first finds what was left";
}

TEST(SingleFlight, tables_do_not_wait_for_each_other) {
  Scene scene;
  asio::io_context loop(1);
  for (const char* key : {"a", "b", "c"}) spawn(loop, scene, key, milliseconds(60'000));
  loop.run();
  EXPECT_EQ(scene.most_inside, 3);
}

TEST(SingleFlight, what_was_left_is_gone_when_nobody_waited) {
  Scene scene;
  for (int i = 0; i < 2; ++i) {
    asio::io_context loop(1);
    spawn(loop, scene, "t", milliseconds(60'000));
    loop.run();
  }
  EXPECT_EQ(scene.done, 2);
  EXPECT_EQ(scene.found, 0);
}

TEST(SingleFlight, who_waits_too_long_leaves_the_queue_to_the_next) {
  Scene scene;
  asio::io_context loop(1);
  auto hold = [](Scene* all) -> base::Task<void> {
    auto lease = co_await all->single_flight.take(within(milliseconds(60'000)), "t");
    while (all->refused == 0) co_await pause();
  };
  asio::co_spawn(loop, hold(&scene), asio::detached);
  spawn(loop, scene, "t", milliseconds(1));
  spawn(loop, scene, "t", milliseconds(60'000));
  loop.run();
  EXPECT_EQ(scene.refused, 1);
  EXPECT_EQ(scene.done, 1);
}

TEST(SingleFlight, who_is_cancelled_leaves_the_queue_to_the_next) {
  Scene scene;
  asio::io_context loop(1);
  asio::cancellation_signal cancel;
  spawn(loop, scene, "t", milliseconds(60'000));
  asio::co_spawn(loop, hold_lease(&scene, "t", within(milliseconds(60'000))),
                 asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  spawn(loop, scene, "t", milliseconds(60'000));
  asio::post(loop, [&] { cancel.emit(asio::cancellation_type::terminal); });
  loop.run();
  EXPECT_EQ(scene.done, 2);
}

}  // namespace
}  // namespace lake::publish
