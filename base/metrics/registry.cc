#include "base/metrics/registry.h"

#include <fmt/format.h>
#include <prometheus/check_names.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <variant>

namespace base::metrics {

struct HistogramCells {
  explicit HistogramCells(std::span<const double> upper)
      : bounds(upper.begin(), upper.end()), counts(upper.size() + 1) {}

  const std::vector<double> bounds;
  std::vector<std::atomic<std::uint64_t>> counts;  // One more than bounds: the rest.
  std::atomic<double> sum{0};
};

namespace {

using CounterCell = std::atomic<std::uint64_t>;
using GaugeCell = std::atomic<std::int64_t>;
using Cell = std::variant<std::unique_ptr<CounterCell>, std::unique_ptr<GaugeCell>,
                          std::unique_ptr<HistogramCells>>;
constexpr std::array kTypes = {prometheus::MetricType::Counter, prometheus::MetricType::Gauge,
                               prometheus::MetricType::Histogram};
enum TypeIndex : std::size_t { kCounter, kGauge, kHistogram };

[[noreturn]] void refuse(std::string_view name, std::string_view rule) {
  fmt::print(stderr, "metric {}: {}\n", name, rule);
  std::abort();
}

void check_labels(std::string_view name, const Labels& labels, prometheus::MetricType type) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    // A histogram has "le" labels of its own.
    bool taken = type == prometheus::MetricType::Histogram && labels[i].first == "le";
    if (taken || !prometheus::CheckLabelName(labels[i].first)) refuse(name, "bad label name");
    for (std::size_t j = 0; j < i; ++j) {
      if (labels[i].first == labels[j].first) refuse(name, "label given twice");
    }
  }
}

void collect_histogram(const HistogramCells& cells, prometheus::ClientMetric::Histogram& out) {
  for (std::size_t i = 0; i < cells.counts.size(); ++i) {
    out.sample_count += cells.counts[i].load(std::memory_order_relaxed);
    double bound =
        i < cells.bounds.size() ? cells.bounds[i] : std::numeric_limits<double>::infinity();
    out.bucket.push_back({out.sample_count, bound});
  }
  out.sample_sum = cells.sum.load(std::memory_order_relaxed);
}

}  // namespace

struct Registry::Family {
  struct Series {
    Labels labels;
    Cell cell;
  };

  std::string name;
  std::string help;
  std::size_t type;
  std::vector<Series> series;

  // The cell of `labels`, made by `make` when it is not there yet.
  template <class T, class Make>
  T& cell(Labels labels, Make make) {
    std::ranges::sort(labels);
    check_labels(name, labels, kTypes[type]);
    auto it = std::ranges::find(series, labels, &Series::labels);
    if (it == series.end()) it = series.insert(it, Series{std::move(labels), make()});
    return *std::get<std::unique_ptr<T>>(it->cell);
  }

  [[nodiscard]] prometheus::MetricFamily collect() const {
    prometheus::MetricFamily out{name, help, kTypes[type], {}};
    for (const auto& [labels, cell] : series) {
      prometheus::ClientMetric metric;
      for (const auto& [label, value] : labels) metric.label.push_back({label, value});
      if (const auto* counter = std::get_if<kCounter>(&cell)) {
        metric.counter.value = static_cast<double>((*counter)->load(std::memory_order_relaxed));
      } else if (const auto* gauge = std::get_if<kGauge>(&cell)) {
        metric.gauge.value = static_cast<double>((*gauge)->load(std::memory_order_relaxed));
      } else {
        collect_histogram(*std::get<kHistogram>(cell), metric.histogram);
      }
      out.metric.push_back(std::move(metric));
    }
    return out;
  }
};

void Histogram::observe(double value) const {
  // The first bound that is not below the value; comparisons with a value that
  // is not a number are all false, so it is put aside first.
  bool is_number = value == value;
  auto it = is_number ? std::ranges::lower_bound(cells_->bounds, value) : cells_->bounds.end();
  auto i = static_cast<std::size_t>(it - cells_->bounds.begin());
  cells_->counts[i].fetch_add(1, std::memory_order_relaxed);
  if (is_number) cells_->sum.fetch_add(value, std::memory_order_relaxed);
}

std::span<const double> latency_buckets() {
  static constexpr std::array kSeconds = {50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3,
                                          5e-3,  10e-3,  25e-3,  50e-3,  0.1,  0.25,
                                          0.5,   1.0,    2.5,    5.0,    10.0, 30.0};
  return kSeconds;
}

Registry::Registry() = default;
Registry::~Registry() = default;

Registry::Family& Registry::family(std::string_view name, std::string_view help, std::size_t type) {
  if (!prometheus::CheckMetricName(std::string(name))) refuse(name, "bad name");
  auto it = std::ranges::find_if(families_, [&](const auto& known) { return known->name == name; });
  if (it == families_.end()) {
    families_.push_back(
        std::make_unique<Family>(Family{std::string(name), std::string(help), type, {}}));
    return *families_.back();
  }
  if ((*it)->type != type || (*it)->help != help) refuse(name, "two types or two help texts");
  return **it;
}

Counter Registry::counter(std::string_view name, std::string_view help, Labels labels) {
  std::lock_guard lock(mutex_);
  return Counter(&family(name, help, kCounter).cell<CounterCell>(std::move(labels), [] {
    return std::make_unique<CounterCell>(0);
  }));
}

Gauge Registry::gauge(std::string_view name, std::string_view help, Labels labels) {
  std::lock_guard lock(mutex_);
  return Gauge(&family(name, help, kGauge).cell<GaugeCell>(std::move(labels), [] {
    return std::make_unique<GaugeCell>(0);
  }));
}

Histogram Registry::histogram(std::string_view name, std::string_view help, Labels labels,
                              std::span<const double> bounds) {
  std::lock_guard lock(mutex_);
  if (std::ranges::adjacent_find(bounds, std::greater_equal<>{}) != bounds.end()) {
    refuse(name, "buckets must ascend");
  }
  auto& cells = family(name, help, kHistogram).cell<HistogramCells>(std::move(labels), [&] {
    return std::make_unique<HistogramCells>(bounds);
  });
  if (!std::ranges::equal(cells.bounds, bounds)) refuse(name, "two sets of buckets");
  return Histogram(&cells);
}

std::string Registry::text() const {
  std::vector<prometheus::MetricFamily> collected;
  {
    std::lock_guard lock(mutex_);
    for (const auto& family : families_) collected.push_back(family->collect());
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, collected);
  return std::move(out).str();
}

}  // namespace base::metrics
