#include "toolserver/connectors/sql/sql_reach.h"

#include <algorithm>

namespace tool::connectors {

Reach largest_of(const Reach& a, const Reach& b) {
  return {.factor = std::max(a.factor, b.factor),
          .length = std::max(a.length, b.length),
          .copied = std::max(a.copied, b.copied),
          .rows = std::max(a.rows, b.rows),
          .inner = std::max(a.inner, b.inner),
          .spreads = a.spreads || b.spreads,
          .grows = a.grows || b.grows};
}

double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Reach fixed(Reach reach, double length) {
  reach.factor = 0;
  reach.length = length;
  return reach;
}

void PartsReach::add(const Reach& part) {
  sum_factor_ += part.factor;
  sum_length_ += part.length;
  product_factor_ *= std::max(1.0, part.factor);
  product_length_ *= part.length;
  largest_ = largest_of(largest_, part);
}

Reach PartsReach::combined(Combine how) const {
  Reach out = largest_;
  if (how == Combine::kSum) {
    out.factor = sum_factor_;
    out.length = std::max(1.0, sum_length_);
  } else if (how == Combine::kProduct) {
    if (out.factor > 0) out.factor = product_factor_;
    out.length = product_length_;
  }
  return out;
}

}  // namespace tool::connectors
