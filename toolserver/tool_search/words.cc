#include "toolserver/tool_search/words.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tool::tool_search {
namespace {

constexpr std::size_t kWordBytes = 40;

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return is_small(c) || is_capital(c) || (static_cast<unsigned char>(c) > 127);
}

bool has_vowel(std::string_view text) { return text.find_first_of("aeiouy") != std::string::npos; }

bool drop(std::string& word, std::string_view ending, std::size_t least) {
  if (!word.ends_with(ending) || word.size() - ending.size() < least) return false;
  if (!has_vowel(std::string_view(word).substr(0, word.size() - ending.size()))) return false;
  word.resize(word.size() - ending.size());
  return true;
}

void drop_plural(std::string& word) {
  if (word.size() < 4 || !word.ends_with('s') || word.ends_with("ss") || word.ends_with("us") ||
      word.ends_with("is")) {
    return;
  }
  if (word.ends_with("ies")) {
    word.resize(word.size() - 3);
    word += 'y';
  } else if (word.ends_with("sses") || word.ends_with("shes") || word.ends_with("ches") ||
             word.ends_with("xes")) {
    word.resize(word.size() - 2);
  } else {
    word.pop_back();
  }
}

// Groups of words, of which one may stand for another when people ask for tools.
constexpr std::array<std::string_view, 135> kGroups{
    "create new make add start",
    "delete remove erase purge drop forget",
    "list show which see",
    "get read fetch retrieve show open view load download",
    "search find look locate query lookup",
    "write save store put",
    "update change modify edit set correct alter replace",
    "send post message write tell text",
    "run execute invoke launch trigger start evaluate",
    "stop halt end shut kill terminate cancel",
    "restart reboot bounce",
    "retry again rerun",
    "upload put store save share",
    "append add log",
    "error failure exception crash bug",
    "issue ticket bug task",
    "task todo item",
    "email mail message",
    "file document",
    "folder directory",
    "image picture photo",
    "video clip movie",
    "audio sound voice recording speech",
    "track song music play",
    "meeting appointment event call conference",
    "database db",
    "row record document",
    "table relation",
    "pr pull",
    "mr merge",
    "log output trace",
    "deploy publish ship release roll",
    "secret password credential",
    "alert alarm warning notification",
    "incident outage page",
    "container pod docker",
    "kubernetes k8s cluster",
    "aws amazon",
    "azure microsoft",
    "gcp google",
    "machine instance vm server host",
    "website site page web url",
    "user member people who",
    "difference diff change compare",
    "summary summarize shorten short",
    "review approve",
    "reply answer comment respond remark",
    "schedule book reserve plan",
    "cost price pay money bill spend much",
    "invoice bill",
    "customer client",
    "order purchase",
    "product article item",
    "status state running",
    "usage busy load",
    "description structure schema field",
    "copy fork duplicate clone",
    "convert transform turn",
    "generate create make draw",
    "chart graph plot",
    "vulnerability vulnerable security secure safe",
    "channel room chat conversation",
    "weather forecast rain storm temperature warm",
    "translate language french german spanish",
    "hotel room accommodation stay sleep",
    "rent rental listing flat apartment",
    "flight plane airline",
    "train rail railway journey",
    "restaurant dinner lunch food eat",
    "near close nearby location local around",
    "place business restaurant shop",
    "package parcel delivery shipment shipping",
    "transaction spend payment bank",
    "refund back return",
    "wikipedia encyclopedia",
    "web internet online",
    "browser page chrome site",
    "javascript js",
    "python py",
    "article post blog story news",
    "form survey questionnaire",
    "campaign advertising ad newsletter",
    "paper publication preprint study literature",
    "transcribe transcript subtitle speech words",
    "grammar spelling proofread",
    "speech speak voice aloud",
    "mathematical math expression percent solve compute calculate",
    "currency euro dollar exchange",
    "time clock hour",
    "reminder remind",
    "knowledge memory remember know",
    "posting vacancy job career",
    "shell bash terminal command",
    "address street position coordinate",
    "network interface ip",
    "checksum hash sha256 md5",
    "pattern match regular regex",
    "package library dependency version",
    "newest latest current recent new",
    "documentation docs reference manual",
    "log grep line",
    "metric performance load",
    "dashboard panel monitoring",
    "light lamp lights",
    "lambda serverless function",
    "queue enqueue",
    "bucket storage object blob s3",
    "ec2 machine virtual vm",
    "infrastructure terraform",
    "view visitor traffic visit",
    "figma design mockup",
    "diagram flowchart sketch",
    "stock share trading",
    "song playlist music",
    "ssh remote server scp",
    "http request curl",
    "api rest interface",
    "link url",
    "fix resolve",
    "unresolved open",
    "sign signature",
    "csv comma",
    "upload publish online",
    "analysis statistics report summary",
    "model network pretrained",
    "train training",
    "keyboard type key",
    "sheet spreadsheet",
    "slide deck presentation",
    "tweet twitter",
    "priority urgent important",
    "assign assignee hand",
    "complete done finish tick",
    "merge combine join",
    "expire expiry",
};

using Alike = std::map<std::string, std::vector<std::string>, std::less<>>;

Alike read_groups() {
  std::map<std::string, std::set<std::string>> sets;
  for (std::string_view group : kGroups) {
    auto words = words_of(group, 32);
    for (const auto& one : words) {
      for (const auto& other : words) {
        if (one != other) sets[one].insert(other);
      }
    }
  }
  Alike out;
  for (const auto& [word, others] : sets) out[word] = {others.begin(), others.end()};
  return out;
}

}  // namespace

bool is_stop_word(std::string_view word) {
  static constexpr std::array<std::string_view, 71> kWords{
      "a",         "about", "all",  "am",    "an",   "and",   "any",    "are",      "as",
      "at",        "be",    "been", "by",    "can",  "could", "did",    "do",       "does",
      "for",       "from",  "had",  "has",   "have", "how",   "i",      "if",       "in",
      "into",      "is",    "it",   "its",   "me",   "my",    "of",     "off",      "on",
      "one",       "or",    "our",  "out",   "over", "so",    "some",   "somebody", "someone",
      "something", "that",  "the",  "their", "them", "there", "these",  "they",     "this",
      "to",        "up",    "us",   "use",   "was",  "we",    "were",   "what",     "when",
      "where",     "will",  "with", "would", "you",  "your",  "please", "want"};
  return std::ranges::find(kWords, word) != kWords.end();
}

std::string stem(std::string word) {
  drop_plural(word);
  bool cut = drop(word, "ing", 3) || drop(word, "ed", 3);
  if (cut && word.size() > 3 && word.back() == word[word.size() - 2] &&
      std::string_view("bdfgmnprt").contains(word.back())) {
    word.pop_back();  // "running"
  }
  if (!cut && (word.ends_with("tion") || word.ends_with("sion"))) drop(word, "ion", 4);
  if (!cut) drop(word, "ment", 4);
  if (word.size() > 3 && word.ends_with('e')) word.pop_back();
  return word;
}

std::vector<std::string> words_of(std::string_view text, std::size_t most) {
  std::vector<std::string> out;
  std::string word;
  auto end_word = [&] {
    if (!word.empty() && !is_stop_word(word)) out.push_back(stem(std::move(word)));
    word.clear();
  };
  char before = 0;
  for (char c : text) {
    if (out.size() >= most) return out;
    if (!is_letter(c) && !is_digit(c)) {
      end_word();
    } else {
      if (is_capital(c) && is_small(before)) end_word();
      if (word.size() < kWordBytes) {
        word += is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
      }
    }
    before = c;
  }
  if (out.size() < most) end_word();
  return out;
}

std::span<const std::string> alike(const std::string& stem) {
  static const Alike kAlike = read_groups();
  auto found = kAlike.find(stem);
  return found == kAlike.end() ? std::span<const std::string>() : found->second;
}

}  // namespace tool::tool_search
