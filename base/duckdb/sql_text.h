#pragma once

// The engine takes names and file names only as part of its SQL text. Every
// one goes through here, so that no name can end its own quotes. Values go as
// parameters instead.

#include <string>
#include <string_view>
#include <vector>

namespace base::duckdb {

/// `"name"`, with quotes inside doubled.
[[nodiscard]] std::string quote_identifier(std::string_view name);

/// `'text'`, with quotes inside doubled.
[[nodiscard]] std::string quote_literal(std::string_view text);

/// `['text', 'text']`, each as quote_literal() has it.
[[nodiscard]] std::string quote_literals(const std::vector<std::string>& texts);

}  // namespace base::duckdb
