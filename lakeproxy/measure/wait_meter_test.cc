#include "lakeproxy/measure/wait_meter.h"

#include <gtest/gtest.h>

#include <thread>

namespace lake::measure {
namespace {

using std::chrono::milliseconds;

void pause() { std::this_thread::sleep_for(milliseconds(2)); }

TEST(WaitMeterTest, counts_waits_that_overlap_once) {
  WaitMeter meter;
  meter.watch(1);
  auto began = std::chrono::steady_clock::now();
  {
    auto one = WaitMeter::wait(&meter, 1, Party::kStore);
    auto two = WaitMeter::wait(&meter, 1, Party::kStore);
    pause();
  }
  auto took = std::chrono::steady_clock::now() - began;
  Waits waits = meter.take(1);
  EXPECT_EQ(waits.store, 2U);
  EXPECT_EQ(waits.postgres, 0U);
  EXPECT_GE(waits.waited, milliseconds(2));
  EXPECT_LE(waits.waited, took);
}

TEST(WaitMeterTest, leaves_out_what_lies_between_waits_and_after_them) {
  WaitMeter meter;
  meter.watch(1);
  {
    auto wait = WaitMeter::wait(&meter, 1, Party::kPostgres);
  }
  pause();
  {
    auto wait = WaitMeter::wait(&meter, 1, Party::kPostgres);
  }
  pause();
  Waits waits = meter.take(1);
  EXPECT_EQ(waits.postgres, 2U);
  EXPECT_LT(waits.waited, milliseconds(2));
}

TEST(WaitMeterTest, counts_only_requests_that_are_watched) {
  WaitMeter meter;
  {
    auto wait = WaitMeter::wait(&meter, 7, Party::kPostgres);
  }
  EXPECT_EQ(meter.take(7).postgres, 0U);
  meter.watch(1);
  auto early = WaitMeter::wait(&meter, 2, Party::kStore);
  meter.watch(2);
  EXPECT_EQ(meter.take(1).store, 0U);
  EXPECT_EQ(meter.take(2).store, 0U);
  {
    auto nobody = WaitMeter::wait(nullptr, 1, Party::kStore);
  }
}

}  // namespace
}  // namespace lake::measure
