#pragma once

// Words of names, descriptions and queries in the form in which they are
// compared: small letters, no endings, no words that say nothing.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tool::tool_search {

/// The words of `text`, at most `most`, in their order. A word ends where letters
/// and digits do, and where a capital follows a small letter: "listPull_requests"
/// has three. Bytes over 127 are letters; a word has 40 bytes at most, and the
/// rest of it is left out. What is_stop_word() is left out.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text, std::size_t most);

/// A word of small letters without its English ending: "messages", "messaging"
/// and "message" are alike after it. Never empty unless the word is.
[[nodiscard]] std::string stem(std::string word);

/// Of small letters: "the", "of" and their like.
[[nodiscard]] bool is_stop_word(std::string_view word);

/// The other stems that stand for the same in the names of tools, such as "delet"
/// for "remov"; empty for most. Valid for the life of the process.
[[nodiscard]] std::span<const std::string> alike(const std::string& stem);

}  // namespace tool::tool_search
