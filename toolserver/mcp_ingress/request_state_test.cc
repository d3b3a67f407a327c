#include "toolserver/mcp_ingress/request_state.h"

#include <gtest/gtest.h>

namespace tool::mcp_ingress {
namespace {

class SteppedClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override { return time; }
  base::WallTime time{std::chrono::hours(1)};
};

class RequestStateTest : public ::testing::Test {
 protected:
  SteppedClock clock_;
  base::SystemRandom random_;
  RequestStates states_{clock_, random_};
  const StateOwner owner_{"4:nodealice", "tools/call", "files.write", "sha256:1"};
};

using Consent = CarriedState::Consent;

TEST_F(RequestStateTest, comes_back_to_the_call_it_was_made_for) {
  auto sealed = states_.seal(owner_, {"mine", Consent::kNone});
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed->find("mine"), std::string::npos);
  for (int i = 0; i < 2; ++i) {
    auto state = states_.open(owner_, *sealed);
    ASSERT_TRUE(state) << "a state without consent may be used again";
    EXPECT_EQ(state->tool_state, "mine");
    EXPECT_EQ(state->consent, Consent::kNone);
  }
}

TEST_F(RequestStateTest, is_of_no_use_to_another_call) {
  auto sealed = states_.seal(owner_, {"mine", Consent::kNone});
  ASSERT_TRUE(sealed);
  for (const StateOwner& other : std::initializer_list<StateOwner>{
           {"4:nodemallory", owner_.method, owner_.name, owner_.arguments},
           {owner_.principal, "prompts/get", owner_.name, owner_.arguments},
           {owner_.principal, owner_.method, "files.read", owner_.arguments},
           {owner_.principal, owner_.method, owner_.name, "sha256:2"},
           {owner_.principal + "t", "ools/call", owner_.name, owner_.arguments}}) {
    auto state = states_.open(other, *sealed);
    ASSERT_FALSE(state) << other.principal << other.method << other.name << other.arguments;
    EXPECT_EQ(state.error().code, Code::kShape);
  }
}

TEST_F(RequestStateTest, is_refused_when_a_bit_of_it_changed) {
  auto sealed = states_.seal(owner_, {"mine", Consent::kNone});
  ASSERT_TRUE(sealed);
  for (std::size_t i = 0; i < sealed->size(); ++i) {
    std::string touched = *sealed;
    touched[i] = touched[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(states_.open(owner_, touched)) << i;
  }
  EXPECT_FALSE(states_.open(owner_, ""));
  EXPECT_FALSE(states_.open(owner_, sealed->substr(0, 10)));
  EXPECT_FALSE(states_.open(owner_, *sealed + "AAAA"));
}

TEST_F(RequestStateTest, ends_with_its_time_and_with_its_process) {
  auto sealed = states_.seal(owner_, {"mine", Consent::kNone});
  ASSERT_TRUE(sealed);
  RequestStates other(clock_, random_);
  EXPECT_FALSE(other.open(owner_, *sealed));
  clock_.time += RequestStates::kLife - std::chrono::seconds(1);
  EXPECT_TRUE(states_.open(owner_, *sealed));
  clock_.time += std::chrono::seconds(1);
  EXPECT_FALSE(states_.open(owner_, *sealed));
}

TEST_F(RequestStateTest, carries_consent_once) {
  for (Consent consent : {Consent::kAsked, Consent::kGiven}) {
    auto sealed = states_.seal(owner_, {"", consent});
    ASSERT_TRUE(sealed);
    auto state = states_.open(owner_, *sealed);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->consent, consent);
    EXPECT_FALSE(states_.open(owner_, *sealed));
  }
}

TEST_F(RequestStateTest, has_a_bound) {
  EXPECT_TRUE(states_.seal(owner_, {std::string(16 << 10, 'x'), Consent::kNone}));
  auto large = states_.seal(owner_, {std::string(64 << 10, 'x'), Consent::kNone});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::kLimit);
}

}  // namespace
}  // namespace tool::mcp_ingress
