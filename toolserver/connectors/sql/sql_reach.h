#pragma once

// How long a part of a query can make a value, as the screen adds it up from
// the leaves of the tree.

#include "toolserver/connectors/sql/sql_growth.h"

namespace tool::connectors {

/// Of one part. What FROM gives is multiplied: a row that stands once in a table
/// stands in as many rows as a join makes.
struct Reach {
  double factor = 0;     ///< Values of columns that are put into one value.
  double length = 1;     ///< Units of the values that it brings itself.
  double copied = 0;     ///< The largest factor that some call inside copies columns with.
  double rows = 1;       ///< Of a part of FROM, at most.
  double inner = 0;      ///< `copied` of the queries inside an expression.
  bool spreads = false;  ///< Makes rows in the select list.
  bool grows = false;    ///< A recursion whose steps put several values into one.
};

/// A value of a column, as long as its FROM says.
inline constexpr Reach kColumn{.factor = 1};

[[nodiscard]] Reach largest_of(const Reach& a, const Reach& b);
/// Infinity times nothing is nothing here.
[[nodiscard]] double times(double a, double b);
/// Of a value that has a fixed size, made of what `reach` is of.
[[nodiscard]] Reach fixed(Reach reach, double length = 1);

/// The arguments of a call, or the items of a list.
class PartsReach {
 public:
  void add(const Reach& part);
  [[nodiscard]] Reach combined(Combine how) const;

 private:
  Reach largest_;
  double sum_factor_ = 0;
  double sum_length_ = 0;
  double product_factor_ = 1;
  double product_length_ = 1;
};

}  // namespace tool::connectors
