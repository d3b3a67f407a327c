#include "base/postgres/rows.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/core/text.h"

namespace base::pg {
namespace {

class LibpqRows final : public Rows {
 public:
  explicit LibpqRows(ResultPtr result) : result_(std::move(result)) {}

  std::size_t size() const override { return static_cast<std::size_t>(PQntuples(result_.get())); }
  std::size_t columns() const override {
    return static_cast<std::size_t>(PQnfields(result_.get()));
  }

  std::int64_t affected() const override {
    // SELECT has a count in its tag too, and changes nothing.
    std::string_view tag = PQcmdStatus(result_.get());
    for (std::string_view word : {"INSERT ", "UPDATE ", "DELETE ", "MERGE "}) {
      if (tag.starts_with(word)) return parse_int64(PQcmdTuples(result_.get())).value_or(0);
    }
    return 0;
  }

  std::string_view column_name(std::size_t column) const override {
    const char* name = PQfname(result_.get(), static_cast<int>(column));
    return name == nullptr ? std::string_view() : name;
  }

  bool is_null(std::size_t row, std::size_t column) const override {
    check(row, column);
    return PQgetisnull(result_.get(), static_cast<int>(row), static_cast<int>(column)) != 0;
  }

  std::string_view text(std::size_t row, std::size_t column) const override {
    check(row, column);
    int r = static_cast<int>(row);
    int c = static_cast<int>(column);
    return {PQgetvalue(result_.get(), r, c),
            static_cast<std::size_t>(PQgetlength(result_.get(), r, c))};
  }

 private:
  void check(std::size_t row, std::size_t column) const {
    if (row < size() && column < columns()) return;
    fmt::print(stderr, "postgres: row {} of {}, column {} of {}\n", row, size(), column, columns());
    std::abort();
  }

  ResultPtr result_;
};

[[noreturn]] void mismatch(const Rows& rows, std::size_t column, std::string_view wanted) {
  fmt::print(stderr, "postgres: column {} is not {}\n", rows.column_name(column), wanted);
  std::abort();
}

}  // namespace

RowsPtr make_rows(ResultPtr result) { return std::make_unique<LibpqRows>(std::move(result)); }

std::int64_t Rows::int64(std::size_t row, std::size_t column) const {
  auto value = parse_int64(text(row, column));
  if (!value) mismatch(*this, column, "an integer");
  return *value;
}

bool Rows::boolean(std::size_t row, std::size_t column) const {
  auto value = text(row, column);
  if (value != "t" && value != "f") mismatch(*this, column, "a boolean");
  return value == "t";
}

std::optional<std::int64_t> Rows::opt_int64(std::size_t row, std::size_t column) const {
  if (is_null(row, column)) return std::nullopt;
  return int64(row, column);
}

std::optional<bool> Rows::opt_boolean(std::size_t row, std::size_t column) const {
  if (is_null(row, column)) return std::nullopt;
  return boolean(row, column);
}

std::optional<std::string> Rows::opt_text(std::size_t row, std::size_t column) const {
  if (is_null(row, column)) return std::nullopt;
  return std::string(text(row, column));
}

std::string Rows::bytes(std::size_t row, std::size_t column) const {
  auto value = text(row, column);
  auto decoded = value.starts_with("\\x") ? from_hex(value.substr(2)) : std::nullopt;
  if (!decoded) mismatch(*this, column, "a bytea in hex form");
  return *std::move(decoded);
}

}  // namespace base::pg
