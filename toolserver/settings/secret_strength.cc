#include "toolserver/settings/secret_strength.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/core/text.h"

namespace tool::settings {
namespace {

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Small letters and digits alone, so that "Change_Me!" is "changeme".
std::string bare(std::string_view text) {
  std::string out;
  for (char c : text) {
    c = small(c);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

// At least six characters each: a random text of 64 characters holds one of
// them less than once in a hundred million.
constexpr auto kPlaceholders = std::to_array<std::string_view>({
    "changeme",    "changethis",   "changeit",         "replaceme",  "replacethis",
    "replacewith", "placeholder",  "example",          "yoursecret", "yourjwt",
    "yourapi",     "yourkdf",      "yoursalt",         "yourkey",    "yourpassword",
    "yourstrong",  "yourrandom",   "yoursuper",        "yourtoken",  "yourown",
    "secretkey",   "secrethere",   "keyhere",          "salthere",   "tokenhere",
    "inserthere",  "insertyour",   "putyour",          "enteryour",  "fillmein",
    "mysecret",    "supersecret",  "topsecret",        "verysecret", "notsecret",
    "notasecret",  "thesecret",    "sharedsecret",     "jwtsecret",  "apikey",
    "kdfsalt",     "password",     "passw0rd",         "default",    "insecure",
    "unsafe",      "testtest",     "testkey",          "testsecret", "testing",
    "sample",      "dummy",        "developmentonly",  "donotuse",   "foobar",
    "letmein",     "opensesame",   "atleast32",        "atleast16",  "32characters",
    "32chars",     "16characters", "16chars",          "minimum32",  "minimum16",
    "randomchars", "randomstring", "randomcharacters", "generateme", "generatewith",
    "opensslrand", "uuidgen",
});

// Compared without '=' at the end and in any case of letters.
constexpr auto kPublished = std::to_array<std::string_view>({
    // jwt.io's debugger, past and present.
    "your-256-bit-secret",
    "your-384-bit-secret",
    "your-512-bit-secret",
    "a-string-secret-at-least-256-bits-long",
    "a-valid-string-secret-that-is-at-least-384-bits-long",
    "a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long",
    // RFC 7515, appendix A.1; RFC 7517, appendix A.3.
    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
    "GawgguFyGrWKav7AX4VKUg",
    // RFC 7520, sections 3.5 and 3.6.
    "hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg",
    "AAPapAv4LbFbiVawEjagUBluYqN5rhna-8nuldDvOx8",
    // RFC 6070 and RFC 4231, their longer keys in hexadecimal and as text.
    "saltSALTsaltSALTsaltSALTsaltSALTsalt",
    "passwordPASSWORDpassword",
    "4a656665",
    // Manuals of web frameworks and clouds.
    "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7",
    "192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "correct horse battery staple",
    "correct-horse-battery-staple",
    "correcthorsebatterystaple",
    "keyboard cat",
    "the quick brown fox jumps over the lazy dog",
    "thequickbrownfoxjumpsoverthelazydog",
    "lorem ipsum dolor sit amet",
    // SHA-256 and MD5 of nothing and of the favourites.
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8",
    "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    "d41d8cd98f00b204e9800998ecf8427e",
    "5f4dcc3b5aa765d61d8327deb882cf99",
    "5ebe2294ecd0e0f08eab7690d2a6ee69",
});

std::string without_padding(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out(text);
  std::ranges::transform(out, out.begin(), small);
  return out;
}

bool is_published(std::string_view secret) {
  std::string text = without_padding(secret);
  return std::ranges::any_of(kPublished,
                             [&](std::string_view each) { return without_padding(each) == text; });
}

bool is_placeholder(std::string_view secret) {
  if (secret.starts_with('<') || secret.starts_with("${") || secret.starts_with("{{")) return true;
  std::string text = bare(secret);
  return std::ranges::any_of(
      kPlaceholders, [&](std::string_view each) { return text.find(each) != std::string::npos; });
}

// Rows of keys on the usual layouts, each also from right to left.
constexpr auto kKeyRows = std::to_array<std::string_view>({
    "1234567890-=",
    "qwertyuiop[]",
    "asdfghjkl;'",
    "zxcvbnm,./",
    "!@#$%^&*()_+",
    "qwertzuiop",
    "azertyuiop",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/",
});

bool beside(std::string_view row, char a, char b) {
  auto at = row.find(a);
  if (at == std::string_view::npos) return false;
  return (at + 1 < row.size() && row[at + 1] == b) || (at > 0 && row[at - 1] == b);
}

bool on_keyboard(char a, char b, char c) {
  return std::ranges::any_of(kKeyRows, [&](std::string_view row) {
    return a != c && beside(row, a, b) && beside(row, b, c);
  });
}

bool counts(char a, char b, char c) {
  int step = b - a;
  return (step == 1 || step == -1) && c - b == step;
}

// Counting in groups, such as "000102": for some distance, the character goes
// on as the two before it at that distance did.
bool counts_in_groups(std::string_view text, std::size_t at) {
  for (std::size_t lag = 2; lag <= 4 && at >= 2 * lag; ++lag) {
    int step = text[at - lag] - text[at - 2 * lag];
    if (step >= -1 && step <= 1 && text[at] - text[at - lag] == step) return true;
  }
  return false;
}

// What each character follows from.
enum class Follows : std::uint8_t { kNothing, kRepetition, kSequence, kKeyboard };

constexpr std::size_t kGroup = 4;

// A group of kGroup characters from before comes again at `at`.
bool group_comes_again(std::string_view text, std::size_t at) {
  if (at + kGroup > text.size()) return false;
  return text.substr(0, at + kGroup - 1).find(text.substr(at, kGroup)) < at;
}

std::vector<Follows> explain(std::string_view text) {
  std::vector<Follows> out(text.size(), Follows::kNothing);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i >= 2 && text[i] == text[i - 1] && text[i] == text[i - 2]) {
      out[i] = out[i - 1] = Follows::kRepetition;
    }
    if (i >= 2 && counts(text[i - 2], text[i - 1], text[i])) {
      out[i] = out[i - 1] = Follows::kSequence;
    } else if (i >= 2 && on_keyboard(text[i - 2], text[i - 1], text[i])) {
      out[i] = out[i - 1] = Follows::kKeyboard;
    }
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (out[i] == Follows::kNothing && counts_in_groups(text, i)) out[i] = Follows::kSequence;
    if (!group_comes_again(text, i)) continue;
    for (std::size_t j = i; j < i + kGroup; ++j) {
      if (out[j] == Follows::kNothing) out[j] = Follows::kRepetition;
    }
  }
  return out;
}

double bits_per_character(std::string_view text) {
  std::array<std::size_t, 256> counts{};
  for (char c : text) ++counts[static_cast<unsigned char>(c)];
  double bits = 0;
  for (auto count : counts) {
    if (count == 0) continue;
    double share = static_cast<double>(count) / static_cast<double>(text.size());
    bits -= share * std::log2(share);
  }
  return bits;
}

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), small);
  return out;
}

double bits_of(std::string_view secret, const std::vector<Follows>& follows) {
  auto free = static_cast<double>(std::ranges::count(follows, Follows::kNothing));
  auto bound = static_cast<double>(secret.size()) - free;
  return bits_per_character(secret) * free + bound;
}

// The pattern with the most characters, if patterns make half of the text.
std::optional<Weakness> main_pattern(const std::vector<Follows>& follows) {
  auto repetition = std::ranges::count(follows, Follows::kRepetition);
  auto sequence = std::ranges::count(follows, Follows::kSequence);
  auto keyboard = std::ranges::count(follows, Follows::kKeyboard);
  if (2 * (repetition + sequence + keyboard) < std::ssize(follows)) return std::nullopt;
  if (repetition >= sequence && repetition >= keyboard) return Weakness::kRepetitive;
  return sequence >= keyboard ? Weakness::kSequential : Weakness::kKeyboard;
}

// Random hexadecimal digits, the least dense form in use, have about 3 bits by
// this estimate at 16 characters.
constexpr double kBitsPerCharacter = 2.0;

std::size_t characters(std::string_view text) {
  if (!base::is_utf8(text)) return text.size();
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

double estimated_bits(std::string_view secret) {
  if (secret.empty()) return 0;
  return bits_of(secret, explain(in_small_letters(secret)));
}

std::optional<Weakness> known_weakness_of(std::string_view secret) {
  if (is_published(secret)) return Weakness::kPublished;
  if (is_placeholder(secret)) return Weakness::kPlaceholder;
  return std::nullopt;
}

std::optional<Weakness> weakness_of(std::string_view secret, std::size_t min_length) {
  if (auto known = known_weakness_of(secret)) return known;
  if (characters(secret) < min_length) return Weakness::kShort;
  auto follows = explain(in_small_letters(secret));
  if (auto pattern = main_pattern(follows)) return pattern;
  bool predictable = bits_of(secret, follows) < kBitsPerCharacter * static_cast<double>(min_length);
  return predictable ? std::optional(Weakness::kPredictable) : std::nullopt;
}

}  // namespace tool::settings
