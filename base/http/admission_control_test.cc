#include "base/http/admission_control.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/http/lane.h"

namespace base::http {
namespace {

using Places = std::vector<std::shared_ptr<AdmissionControl::Place>>;

class AdmissionControlTest : public testing::Test {
 protected:
  AdmissionControl::Decision admit(AdmissionControl& control, const char* address) {
    return control.admit(boost::asio::ip::make_address(address), lane_);
  }
  // As many as are asked for, of which none may be refused or replace another.
  Places fill(AdmissionControl& control, const char* address, std::size_t count) {
    Places places;
    for (std::size_t i = 0; i < count; ++i) {
      auto decision = admit(control, address);
      EXPECT_TRUE(decision.place && !decision.replaced) << address << ' ' << i;
      places.push_back(std::move(decision.place));
    }
    return places;
  }

  boost::asio::io_context loop_;
  ServerLimits limits_;
  Refusal refusal_;
  Census connections_, sweeps_;
  Lane lane_{loop_, Handler{}, limits_, refusal_, connections_, sweeps_};
};

TEST_F(AdmissionControlTest, over_the_number_of_all_a_newcomer_is_refused_until_one_ends) {
  AdmissionControl control({.connections = 2});
  auto places = fill(control, "192.0.2.1", 2);
  auto over = admit(control, "192.0.2.2");
  EXPECT_TRUE(!over.place && !over.replaced);
  places.pop_back();
  EXPECT_EQ(control.count(), 1u);
  EXPECT_TRUE(admit(control, "192.0.2.2").place);
}

TEST_F(AdmissionControlTest, an_address_that_is_full_replaces_its_own_oldest_stranger) {
  AdmissionControl control({.of_address = 2, .when_full = WhenFull::kReplaceStranger});
  auto others = fill(control, "192.0.2.9", 1);  // Older, and of another address.
  auto places = fill(control, "192.0.2.1", 2);
  auto third = admit(control, "192.0.2.1");
  ASSERT_TRUE(third.place);
  EXPECT_EQ(third.replaced, places[0]);
  auto fourth = admit(control, "192.0.2.1");
  EXPECT_EQ(fourth.replaced, places[1]);
  EXPECT_EQ(control.count(), 3u);
}

TEST_F(AdmissionControlTest, strangers_of_the_most_crowded_address_make_room_for_others) {
  AdmissionControl control(
      {.of_address = 9, .strangers = 5, .when_full = WhenFull::kReplaceStranger});
  auto lone = fill(control, "192.0.2.1", 1);
  auto crowd = fill(control, "192.0.2.2", 4);
  auto newcomer = admit(control, "192.0.2.3");
  ASSERT_TRUE(newcomer.place);
  EXPECT_EQ(newcomer.replaced, crowd[0]);
  EXPECT_EQ(admit(control, "192.0.2.2").replaced, crowd[1]);
}

TEST_F(AdmissionControlTest, among_equal_addresses_the_oldest_stranger_makes_room) {
  AdmissionControl control({.connections = 3, .when_full = WhenFull::kReplaceStranger});
  auto first = fill(control, "192.0.2.1", 1);
  auto second = fill(control, "192.0.2.2", 1);
  auto third = fill(control, "192.0.2.3", 1);
  EXPECT_EQ(admit(control, "192.0.2.4").replaced, first[0]);
}

TEST_F(AdmissionControlTest, who_was_vouched_for_is_never_replaced) {
  AdmissionControl control(
      {.connections = 3, .of_address = 2, .strangers = 2, .when_full = WhenFull::kReplaceStranger});
  auto known = fill(control, "192.0.2.1", 2);
  for (auto& place : known) place->vouch();
  EXPECT_FALSE(admit(control, "192.0.2.1").place) << "its address is full of known ones";
  auto stranger = fill(control, "192.0.2.2", 1);
  EXPECT_EQ(admit(control, "192.0.2.3").replaced, stranger[0]);
}

TEST_F(AdmissionControlTest, a_replaced_connection_gives_no_second_place_back_when_it_ends) {
  AdmissionControl control({.connections = 1, .when_full = WhenFull::kReplaceStranger});
  auto first = admit(control, "192.0.2.1");
  auto second = admit(control, "192.0.2.2");
  EXPECT_EQ(second.replaced, first.place);
  first.place->vouch();  // Too late.
  first = {};
  second.replaced.reset();
  EXPECT_EQ(control.count(), 1u);
}

TEST_F(AdmissionControlTest, an_ipv6_network_of_64_bits_is_one_address) {
  AdmissionControl control({.of_address = 1});
  auto first = admit(control, "2001:db8:0:1::1");
  ASSERT_TRUE(first.place);
  EXPECT_FALSE(admit(control, "2001:db8:0:1:ffff:ffff:ffff:ffff").place);
  EXPECT_TRUE(admit(control, "2001:db8:0:2::1").place);
  auto mapped = admit(control, "::ffff:192.0.2.1");
  ASSERT_TRUE(mapped.place);
  EXPECT_FALSE(admit(control, "192.0.2.1").place);
  EXPECT_TRUE(admit(control, "::ffff:192.0.2.2").place);
}

TEST_F(AdmissionControlTest, new_limits_hold_for_newcomers) {
  AdmissionControl control({.connections = 3});
  auto places = fill(control, "192.0.2.1", 2);
  control.set_limits({.connections = 1});
  EXPECT_FALSE(admit(control, "192.0.2.1").place);
  EXPECT_EQ(control.count(), 2u);
}

}  // namespace
}  // namespace base::http
