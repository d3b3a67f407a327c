// How much the shipped rules find, measured on texts with labels. Half of them
// (known.tsv) were at hand when the rules were written; the other half
// (held_out.tsv) was not looked at for it, so its figure is the one to believe.
// The texts were made for this test: they show what the rules are for, not how
// often attacks come or what an attacker who knows the rules would write.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/testing/repository.h"
#include "toolserver/guard/rule_source.h"

namespace tool::guard {
namespace {

struct Labelled {
  std::string label;  // The kind of rule that must match, or "harmless".
  std::string text;
};

// "label<tab>text" a line, "\n" for a line end.
std::vector<Labelled> labelled(const std::string& name) {
  std::ifstream in(base::testing::repository() / "tests/guard" / name);
  std::vector<Labelled> out;
  for (std::string line; std::getline(in, line);) {
    std::size_t tab = line.find('\t');
    EXPECT_NE(tab, std::string::npos) << line;
    std::string text = line.substr(tab + 1);
    for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) {
      text.replace(at, 2, "\n");
    }
    out.push_back({line.substr(0, tab), std::move(text)});
  }
  return out;
}

struct Count {
  std::size_t hit = 0;
  std::size_t all = 0;
  [[nodiscard]] double share() const {
    return all == 0 ? 0 : static_cast<double>(hit) / static_cast<double>(all);
  }
};

// By label: how many texts a rule of that kind matches, and for "harmless" how
// many any rule does that does more than note.
std::map<std::string, Count> measured(const RuleSet& rules, const std::string& name) {
  std::map<std::string, Count> counts;
  for (const auto& [label, text] : labelled(name)) {
    bool hit = false;
    for (Place place : {Place::kArguments, Place::kResult}) {
      ScanBudget budget({.bytes = 1 << 20, .time = std::chrono::hours(1)});
      auto found = rules.scan(text, place, budget);
      EXPECT_TRUE(found.has_value()) << text;
      for (std::size_t index : found ? *found : std::vector<std::size_t>()) {
        const Rule& rule = rules.rules()[index];
        std::string kind(tool::guard::name(rule.kind));
        std::ranges::replace(kind, ' ', '_');
        hit = hit || kind == label || (label == "harmless" && rule.action != RuleAction::kNote);
      }
    }
    ++counts[label].all;
    if (hit) ++counts[label].hit;
    if (hit == (label == "harmless")) fmt::print("  {} {}: {}\n", name, label, text);
  }
  for (const auto& [label, count] : counts) {
    fmt::print("{} {}: {} of {} ({:.0f} %)\n", name, label, count.hit, count.all,
               100 * count.share());
  }
  return counts;
}

class LabelledTest : public ::testing::Test {
 protected:
  LabelledTest() {
    auto loaded = load_rules({.shipped = shipped_names(), .files = {}, .key = {}});
    EXPECT_TRUE(loaded.has_value());
    rules_ = *loaded;
  }
  std::shared_ptr<const RuleSet> rules_;
};

TEST_F(LabelledTest, what_the_rules_were_written_with) {
  auto counts = measured(*rules_, "known.tsv");
  EXPECT_GE(counts["injection"].share(), 0.9);
  EXPECT_GE(counts["secret"].share(), 0.9);
  EXPECT_GE(counts["personal_data"].share(), 0.9);
  EXPECT_LE(counts["harmless"].share(), 0.04);
}

TEST_F(LabelledTest, what_they_have_not_seen) {
  auto counts = measured(*rules_, "held_out.tsv");
  EXPECT_GE(counts["injection"].share(), 0.7);
  EXPECT_GE(counts["secret"].share(), 0.85);
  EXPECT_GE(counts["personal_data"].share(), 0.85);
  EXPECT_LE(counts["harmless"].share(), 0.04);
}

}  // namespace
}  // namespace tool::guard
