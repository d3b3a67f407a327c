#pragma once

// Which of many tools is meant by a few words: a list of tools, made ready once
// and asked many times. Ranking is Okapi BM25 over the stems of name, title,
// description and names of parameters; a word that is not there may be found by
// another that means the same, or by its beginning.
// Source: Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009,
// sections 3.1 (BM25) and 3.5 (several fields).

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tool::tool_search {

/// What is said of a tool. Borrowed while an index is made.
struct Described {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::vector<std::string_view> parameters;  ///< Names.
};

/// Never changed; safe to use from any thread.
class Index {
 public:
  static constexpr std::size_t kWordsOfTool = 512;  ///< Those after them count for nothing.
  static constexpr std::size_t kQueryBytes = 512;   ///< Of a query the rest is not looked at.
  static constexpr std::size_t kQueryWords = 32;

  Index() = default;
  explicit Index(std::span<const Described> tools);

  struct Hit {
    std::size_t tool;  ///< Its place in what the index was made of.
    double score;      ///< Over 0; larger is better; of this query alone.
  };
  /// At most `most` of them, the best first; of equal ones the earlier.
  [[nodiscard]] std::vector<Hit> best(std::string_view query, std::size_t most) const;

  [[nodiscard]] std::size_t size() const { return lengths_.size(); }

 private:
  struct Posting {
    std::uint32_t tool;
    float weight;  ///< Occurrences, each as its field counts.
  };
  using Postings = std::vector<Posting>;  ///< By tool.

  void score(const std::string& word, double share, std::vector<double>& of_word) const;

  std::map<std::string, Postings, std::less<>> words_;
  std::vector<float> lengths_;  ///< Of each tool, as its fields count.
  double mean_length_ = 0;
};

}  // namespace tool::tool_search
