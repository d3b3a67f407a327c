#pragma once

// Counting must cost nothing that a request would notice: labels are resolved
// once at start, and after that a count is one atomic addition. The registry is
// an object that app/ makes and passes on; there is no global one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace base::metrics {

/// Label names and values of one series. Values come from a closed set known
/// at start (a route, a kind of error), never from a request.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// A number that only grows. The handles below are copied freely, are safe to
/// use from any thread, and must not outlive their registry.
class Counter {
 public:
  void add(std::uint64_t n = 1) const { cell_->fetch_add(n, std::memory_order_relaxed); }

 private:
  friend class Registry;
  explicit Counter(std::atomic<std::uint64_t>* cell) : cell_(cell) {}
  std::atomic<std::uint64_t>* cell_;
};

/// A number that goes up and down.
class Gauge {
 public:
  void set(std::int64_t value) const { cell_->store(value, std::memory_order_relaxed); }
  void add(std::int64_t n) const { cell_->fetch_add(n, std::memory_order_relaxed); }

 private:
  friend class Registry;
  explicit Gauge(std::atomic<std::int64_t>* cell) : cell_(cell) {}
  std::atomic<std::int64_t>* cell_;
};

struct HistogramCells;

/// Counts observations in buckets. A scrape between the additions of one
/// observation may see its bucket without its sum.
class Histogram {
 public:
  /// `value` in the unit of the buckets: seconds for latency_buckets().
  /// A value that is not a number is counted in the last bucket alone.
  void observe(double value) const;

 private:
  friend class Registry;
  explicit Histogram(HistogramCells* cells) : cells_(cells) {}
  HistogramCells* cells_;
};

/// Upper bounds in seconds, from 50 us to 30 s.
[[nodiscard]] std::span<const double> latency_buckets();

/// Registration and text() are safe from any thread. Asking for a series that
/// exists gives a handle to the same one. Aborts on a name or label that
/// Prometheus does not allow, on one name with two types, two help texts or
/// two sets of buckets, and on buckets that do not ascend.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  [[nodiscard]] Counter counter(std::string_view name, std::string_view help, Labels labels = {});
  [[nodiscard]] Gauge gauge(std::string_view name, std::string_view help, Labels labels = {});
  [[nodiscard]] Histogram histogram(std::string_view name, std::string_view help,
                                    Labels labels = {},
                                    std::span<const double> bounds = latency_buckets());

  /// All series for a scrape, media type "text/plain; version=0.0.4".
  /// Source: Prometheus, "Exposition formats", text-based format.
  [[nodiscard]] std::string text() const;

 private:
  struct Family;
  Family& family(std::string_view name, std::string_view help, std::size_t type);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Family>> families_;
};

}  // namespace base::metrics
