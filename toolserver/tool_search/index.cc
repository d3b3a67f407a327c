#include "toolserver/tool_search/index.h"

#include <algorithm>
#include <cmath>

#include "toolserver/tool_search/words.h"

namespace tool::tool_search {
namespace {

// How soon more occurrences of a word count no more, and how much a long text is
// held against its tool: the values that the source names as usual.
constexpr double kSaturation = 1.2;
constexpr double kLengthPart = 0.75;

// What a word counts by where it stands.
constexpr float kNameWeight = 3;
constexpr float kTitleWeight = 2;
constexpr float kDescriptionWeight = 1;
constexpr float kParameterWeight = 0.5;

// What a word counts that is not the one that was asked for.
constexpr double kAlikeShare = 0.7;
constexpr double kBeginningShare = 0.7;
constexpr std::size_t kLeastBeginning = 4;  // Bytes.
constexpr std::size_t kMostBeginnings = 16;

}  // namespace

Index::Index(std::span<const Described> tools) {
  double sum = 0;
  for (const Described& tool : tools) {
    std::map<std::string, float> counts;
    std::size_t left = kWordsOfTool;
    float length = 0;
    auto take = [&](std::string_view text, float weight) {
      auto words = words_of(text, left);
      left -= words.size();
      for (auto& word : words) {
        counts[std::move(word)] += weight;
        length += weight;
      }
    };
    take(tool.name, kNameWeight);
    take(tool.title, kTitleWeight);
    take(tool.description, kDescriptionWeight);
    for (std::string_view name : tool.parameters) take(name, kParameterWeight);
    auto place = static_cast<std::uint32_t>(lengths_.size());
    for (const auto& [word, weight] : counts) words_[word].push_back({place, weight});
    lengths_.push_back(length);
    sum += length;
  }
  if (!lengths_.empty()) mean_length_ = std::max(1.0, sum / static_cast<double>(lengths_.size()));
}

// Adds to `of_word` what each tool gets for having the word, unless it has more.
void Index::score(const std::string& word, double share, std::vector<double>& of_word) const {
  auto found = words_.find(word);
  if (found == words_.end()) return;
  auto all = static_cast<double>(lengths_.size());
  auto having = static_cast<double>(found->second.size());
  double rarity = std::log(1 + ((all - having + 0.5) / (having + 0.5)));
  for (const Posting& one : found->second) {
    double length = 1 - kLengthPart + (kLengthPart * lengths_[one.tool] / mean_length_);
    double often = one.weight * (kSaturation + 1) / (one.weight + (kSaturation * length));
    of_word[one.tool] = std::max(of_word[one.tool], share * rarity * often);
  }
}

std::vector<Index::Hit> Index::best(std::string_view query, std::size_t most) const {
  auto words = words_of(query.substr(0, kQueryBytes), kQueryWords);
  std::ranges::sort(words);
  auto repeated = std::ranges::unique(words);
  words.erase(repeated.begin(), repeated.end());
  std::vector<double> scores(size(), 0);
  for (const auto& word : words) {
    std::vector<double> of_word(size(), 0);
    score(word, 1, of_word);
    for (const auto& other : alike(word)) score(other, kAlikeShare, of_word);
    if (word.size() >= kLeastBeginning) {
      auto longer = words_.upper_bound(word);
      for (std::size_t i = 0; i < kMostBeginnings && longer != words_.end(); ++i, ++longer) {
        if (!longer->first.starts_with(word)) break;
        score(longer->first, kBeginningShare, of_word);
      }
    }
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += of_word[i];
  }
  std::vector<Hit> hits;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > 0) hits.push_back({i, scores[i]});
  }
  std::ranges::sort(hits, [](const Hit& one, const Hit& other) {
    return one.score != other.score ? one.score > other.score : one.tool < other.tool;
  });
  if (hits.size() > most) hits.resize(most);
  return hits;
}

}  // namespace tool::tool_search
