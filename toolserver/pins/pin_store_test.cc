#include "toolserver/pins/pin_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace tool::pins {
namespace {

using ::testing::ElementsAre;

PinnedTool tool(std::string pin, std::string note = "") {
  return {pin, {{"description", pin}}, 0, std::move(note)};
}

class PinStoreTest : public ::testing::Test {
 protected:
  PinStoreTest() {
    std::string name = ::testing::TempDir() + "pins-XXXXXX";
    parent_ = mkdtemp(name.data());
  }
  ~PinStoreTest() override { std::filesystem::remove_all(parent_); }

  PinStore open() {
    auto store = PinStore::open(parent_ / "pins", "git", clock_);
    EXPECT_TRUE(store.has_value());
    return *store;
  }
  PinStatus status(const std::string& id) { return status_of(*open().read(), id); }

  std::filesystem::path parent_;
  base::SystemClock clock_;
};

TEST_F(PinStoreTest, what_is_seen_waits_until_it_is_approved) {
  auto store = open();
  ASSERT_TRUE(store.see({{"git.a", tool("p1")}, {"git.b", tool("p2")}}, false).has_value());
  EXPECT_EQ(status("git.a"), PinStatus::kNew);
  ASSERT_TRUE(store.approve("git.a", "p1").has_value());
  EXPECT_EQ(status("git.a"), PinStatus::kPinned);
  EXPECT_EQ(status("git.b"), PinStatus::kNew);
  ASSERT_TRUE(store.see({{"git.a", tool("p3")}}, false).has_value());
  EXPECT_EQ(status("git.a"), PinStatus::kChanged);
  ASSERT_TRUE(store.see({}, false).has_value());
  EXPECT_EQ(status("git.a"), PinStatus::kGone);
  ASSERT_TRUE(store.revoke("git.a").has_value());
  ASSERT_TRUE(store.see({{"git.a", tool("p1")}}, false).has_value());
  EXPECT_EQ(status("git.a"), PinStatus::kNew);
}

TEST_F(PinStoreTest, approves_only_what_was_looked_at) {
  auto store = open();
  ASSERT_TRUE(store.see({{"git.a", tool("p1")}, {"git.c", tool("p2", "bad")}}, false).has_value());
  EXPECT_EQ(store.approve("git.a", "p0").error().kind(), base::ErrorKind::kConflict);
  EXPECT_EQ(store.approve("git.b", "p1").error().kind(), base::ErrorKind::kNotFound);
  EXPECT_EQ(store.approve("git.c", "p2").error().kind(), base::ErrorKind::kUnsupported);
  EXPECT_EQ(store.revoke("git.a").error().kind(), base::ErrorKind::kNotFound);
  EXPECT_EQ(status("git.a"), PinStatus::kNew);
  EXPECT_EQ(status("git.c"), PinStatus::kUnusable);
}

TEST_F(PinStoreTest, trust_is_for_the_first_sight_alone) {
  auto store = open();
  ASSERT_TRUE(store.see({{"git.a", tool("p1")}, {"git.b", tool("p2", "bad")}}, true).has_value());
  EXPECT_EQ(status("git.a"), PinStatus::kPinned);
  EXPECT_EQ(status("git.b"), PinStatus::kUnusable);
  ASSERT_TRUE(store.see({{"git.a", tool("p3")}}, true).has_value());
  EXPECT_EQ(status("git.a"), PinStatus::kChanged);
  EXPECT_EQ(open().read()->approved.at("git.a").note, "first sight");
}

TEST_F(PinStoreTest, a_server_cannot_fill_the_file_with_ever_new_names) {
  auto store = open();
  for (int round = 0; round < 5; ++round) {
    std::map<std::string, PinnedTool> seen;
    for (int i = 0; i < 512; ++i) {
      seen.emplace("git.t" + std::to_string(round * 512 + i), tool("p"));
    }
    ASSERT_TRUE(store.see(seen, true).has_value());
  }
  EXPECT_EQ(store.read()->approved.size(), PinStore::kApprovals);
  EXPECT_EQ(status("git.t2559"), PinStatus::kNew);
}

TEST_F(PinStoreTest, nothing_is_written_where_nothing_changed) {
  auto store = open();
  EXPECT_EQ(store.stamp(), "");
  ASSERT_TRUE(store.see({{"git.a", tool("p1")}}, false).has_value());
  auto before = store.stamp();
  ASSERT_TRUE(store.see({{"git.a", tool("p1")}}, false).has_value());
  EXPECT_EQ(store.stamp(), before);
  ASSERT_TRUE(store.approve("git.a", "p1").has_value());
  EXPECT_NE(store.stamp(), before);
}

TEST_F(PinStoreTest, writers_at_once_lose_nothing) {
  auto store = open();
  std::map<std::string, PinnedTool> seen;
  for (int i = 0; i < 40; ++i) seen.emplace("git.t" + std::to_string(i), tool("p"));
  ASSERT_TRUE(store.see(seen, false).has_value());
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([this, w] {
      auto own = open();
      for (int i = w; i < 40; i += 4) {
        EXPECT_TRUE(own.approve("git.t" + std::to_string(i), "p").has_value());
      }
    });
  }
  for (auto& one : writers) one.join();
  EXPECT_EQ(open().read()->approved.size(), 40U);
}

TEST_F(PinStoreTest, a_file_that_is_broken_or_of_others_is_refused) {
  auto store = open();
  for (const char* text :
       {"", "{", "[]", R"({"version":2,"seen":{},"approved":{}})", R"({"version":1,"seen":{}})",
        R"({"version":1,"seen":{"git.a":{"pin":7}},"approved":{}})"}) {
    std::ofstream(store.path()) << text;
    ::chmod(store.path().c_str(), 0600);
    EXPECT_EQ(store.read().error().kind(), base::ErrorKind::kCorrupt) << text;
    EXPECT_FALSE(store.see({{"git.a", tool("p1")}}, true).has_value()) << text;
  }
  std::ofstream(store.path()) << R"({"version":1,"seen":{},"approved":{}})";
  EXPECT_TRUE(store.read().has_value());
  ::chmod(store.path().c_str(), 0622);
  EXPECT_EQ(store.read().error().kind(), base::ErrorKind::kForbidden);
  ::chmod((parent_ / "pins").c_str(), 0777);
  EXPECT_EQ(PinStore::open(parent_ / "pins", "git", clock_).error().kind(),
            base::ErrorKind::kForbidden);
}

TEST(PinDifferencesTest, each_member_that_differs_has_its_lines) {
  base::json::Object before{{"a", 1}, {"b", {{"c", "x"}, {"d", true}}}, {"gone", 1}};
  base::json::Object after{{"a", 1}, {"b", {{"c", "y"}, {"d", true}}}, {"new", {1, 2}}};
  EXPECT_THAT(differences(before, after),
              ElementsAre("- b.c: \"x\"", "+ b.c: \"y\"", "- gone: 1", "+ new: [1,2]"));
  EXPECT_THAT(differences(before, before), ElementsAre());
}

}  // namespace
}  // namespace tool::pins
