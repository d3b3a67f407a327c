#include "base/runtime/fair_places.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace base {
namespace {

namespace asio = boost::asio;
using Held = FairPlaces::Held;

class FairPlacesTest : public ::testing::Test {
 protected:
  // Asks for a place; what comes of it is in held or failures, under the number returned.
  std::size_t ask(const std::string& key, Deadline deadline = Deadline::max()) {
    std::size_t number = count++;
    asio::co_spawn(loop, enter(this, number, key, deadline),
                   asio::bind_cancellation_slot(cancels[number].slot(),
                                                [](auto error) { ASSERT_FALSE(error); }));
    settle();
    return number;
  }
  static Task<void> enter(FairPlacesTest* self, std::size_t number, std::string key,
                          Deadline deadline) {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto place = co_await self->places.enter(std::move(key), deadline);
    if (!place) self->failures[number] = place.error().kind();
    if (place) self->held.emplace(number, std::make_unique<Held>(std::move(*place)));
  }
  void give_back(std::size_t number) {
    held.erase(number);
    settle();
  }
  void settle() {
    loop.restart();
    loop.poll();
  }
  [[nodiscard]] bool holds(std::size_t number) const { return held.contains(number); }

  std::map<std::size_t, asio::cancellation_signal> cancels;  // One a call; they outlive the calls.
  asio::io_context loop;
  FairPlaces places{4};
  std::size_t count = 0;
  std::map<std::size_t, std::unique_ptr<Held>> held;
  std::map<std::size_t, ErrorKind> failures;
};

TEST_F(FairPlacesTest, one_key_holds_at_most_half) {
  auto first = ask("a"), second = ask("a"), third = ask("a");
  EXPECT_TRUE(holds(first) && holds(second));
  EXPECT_FALSE(holds(third));
  EXPECT_TRUE(holds(ask("b")));
  give_back(first);
  EXPECT_TRUE(holds(third));
}

TEST_F(FairPlacesTest, a_free_place_goes_to_who_holds_least) {
  ask("a"), ask("a"), ask("b");
  auto last = ask("b");
  auto crowd = ask("a");
  auto newcomer = ask("c");
  EXPECT_FALSE(holds(crowd) || holds(newcomer));
  give_back(last);
  EXPECT_TRUE(holds(newcomer)) << "though others waited for longer";
  EXPECT_FALSE(holds(crowd));
}

TEST_F(FairPlacesTest, a_wait_ends_with_its_deadline_and_takes_nothing) {
  auto first = ask("a");
  ask("a");
  auto late = ask("a", std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
  loop.restart();
  loop.run();
  EXPECT_EQ(failures.at(late), ErrorKind::kTimeout);
  auto next = ask("a");
  give_back(first);
  EXPECT_TRUE(holds(next));
}

TEST_F(FairPlacesTest, a_cancelled_wait_takes_nothing) {
  auto first = ask("a");
  ask("a");
  auto waiting = ask("a");
  cancels[waiting].emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(failures.at(waiting), ErrorKind::kCancelled);
  auto next = ask("a");
  give_back(first);
  EXPECT_TRUE(holds(next));
}

TEST_F(FairPlacesTest, places_may_be_given_back_from_other_threads) {
  std::vector<std::unique_ptr<Held>> elsewhere;
  auto first = ask("a"), second = ask("a"), third = ask("a");
  elsewhere.push_back(std::move(held.at(first)));
  std::jthread([&] { elsewhere.clear(); }).join();
  settle();
  EXPECT_TRUE(holds(second) && holds(third));
}

TEST(FairPlaces, of_a_single_place_one_key_may_hold_it) {
  asio::io_context loop;
  FairPlaces places(1);
  bool taken = false;
  auto take = [](FairPlaces& from, bool& got) -> Task<void> {
    got = (co_await from.enter("a", Deadline::max())).has_value();
  };
  asio::co_spawn(loop, take(places, taken), [](auto error) { EXPECT_FALSE(error); });
  loop.run();
  EXPECT_TRUE(taken);
}

}  // namespace
}  // namespace base
