#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include "toolserver/guard/decision_cache.h"
#include "toolserver/guard/folding.h"
#include "toolserver/guard/rule_source.h"

namespace tool::guard {
namespace {

constexpr ScanLimits kPlenty{.bytes = std::size_t{1} << 40, .time = std::chrono::hours(24)};

// Words as they stand in texts, without any that a rule is about.
std::string prose(std::size_t bytes) {
  constexpr std::array kWords = {"the",   "river", "was", "quiet", "and",  "boats", "lay", "along",
                                 "bank,", "while", "a",   "bell",  "rang", "from",  "far", "away."};
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) {
    text += kWords[(i * 7 + i / 5) % kWords.size()];
    text += i % 14 == 13 ? '\n' : ' ';
  }
  text.resize(bytes);
  return text;
}

std::vector<Rule> shipped() {
  std::vector<Rule> rules;
  for (const auto& name : shipped_names()) {
    auto file = shipped_rules(name);
    std::ranges::move(file->rules, std::back_inserter(rules));
  }
  return rules;
}

// The shipped rules, and words and forms in the manner of an operator's own.
std::shared_ptr<const RuleSet> set_of(std::size_t count) {
  auto rules = shipped();
  for (std::size_t i = rules.size(); i < count; ++i) {
    Rule rule = rules[i % 3];
    rule.id = fmt::format("own.{}", i);
    rule.pattern = i % 2 == 0 ? fmt::format("(?i)\\bproject[ -]codename{}\\b", i)
                              : fmt::format("\\bkey{}_[A-Za-z0-9]{{20,}}", i);
    rules.push_back(std::move(rule));
  }
  rules.resize(std::min(rules.size(), count));
  return *RuleSet::compile(std::move(rules));
}

void scan(benchmark::State& state, std::size_t rules, std::string text) {
  auto set = set_of(rules);
  for (auto _ : state) {
    ScanBudget budget(kPlenty);
    auto found = set->scan(text, Place::kResult, budget);
    if (!found) state.SkipWithError("limits");
    benchmark::DoNotOptimize(found);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(text.size()));
}

void scan_1_mib_shipped_rules(benchmark::State& state) { scan(state, 30, prose(1 << 20)); }
BENCHMARK(scan_1_mib_shipped_rules);
void scan_1_mib_500_rules(benchmark::State& state) { scan(state, 500, prose(1 << 20)); }
BENCHMARK(scan_1_mib_500_rules);
void scan_1_mib_500_rules_folded(benchmark::State& state) {
  std::string text = prose(1 << 20);
  for (std::size_t at = 100; at < text.size(); at += 100) text.replace(at, 2, "é");
  scan(state, 500, text);
}
BENCHMARK(scan_1_mib_500_rules_folded);
void scan_100_bytes_500_rules(benchmark::State& state) { scan(state, 500, prose(100)); }
BENCHMARK(scan_100_bytes_500_rules);

// What a scan is made of, each alone: one pass of one automaton over the text as
// it is, the folded form, the search for base64.
void bytes_of(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}
void one_automaton_1_mib_500_rules(benchmark::State& state) {
  RE2::Options options;
  options.set_max_mem(256 << 20);
  RE2::Set all(options, RE2::UNANCHORED);
  for (const Rule& rule : set_of(500)->rules()) {
    if (all.Add(rule.pattern, nullptr) < 0) return state.SkipWithError("pattern");
  }
  if (!all.Compile()) return state.SkipWithError("memory");
  const std::string text = prose(1 << 20);
  std::vector<int> hits;
  for (auto _ : state) benchmark::DoNotOptimize(all.Match(text, &hits));
  bytes_of(state, text.size());
}
BENCHMARK(one_automaton_1_mib_500_rules);
void folding_1_mib(benchmark::State& state) {
  const std::string text = prose(1 << 20);
  for (auto _ : state) benchmark::DoNotOptimize(fold(text, Origins::kLeftOut));
  bytes_of(state, text.size());
}
BENCHMARK(folding_1_mib);
void base64_1_mib(benchmark::State& state) {
  const std::string text = prose(1 << 20);
  for (auto _ : state) benchmark::DoNotOptimize(encoded_texts(text));
  bytes_of(state, text.size());
}
BENCHMARK(base64_1_mib);

// The question is made and hashed, and nobody is asked.
void decision_from_memory(benchmark::State& state) {
  DecisionCache cache(std::chrono::hours(1), 4'096);
  PolicyAnswer answer;
  answer.revision = "1";
  auto now = std::chrono::steady_clock::now();
  Capability capability{.id = *ToolId::parse("sql.query")};
  Invocation call{.tool = capability.id};
  call.principal = std::make_shared<const Principal>();
  call.args = {{"sql", prose(256)}};
  auto key = [&] {
    return DecisionCache::key_of(
        base::json::write(policy_question(Phase::kPre, call, capability, nullptr)));
  };
  cache.came(key(), answer, now);
  for (auto _ : state) {
    auto kept = cache.find(key(), now);
    if (!kept) state.SkipWithError("forgotten");
    benchmark::DoNotOptimize(kept);
  }
}
BENCHMARK(decision_from_memory);

}  // namespace
}  // namespace tool::guard
