#include "bench/samples/samples.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

namespace bench {

double Samples::percentile(double share) {
  if (times_.empty()) return 0;
  auto last = static_cast<double>(times_.size() - 1);
  auto at = times_.begin() + static_cast<std::ptrdiff_t>(share * last);
  std::ranges::nth_element(times_, at);
  return std::chrono::duration<double, std::micro>(*at).count();
}

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string report(Samples& samples, Steady::duration total, double cpu_seconds) {
  double seconds = std::chrono::duration<double>(total).count();
  return fmt::format(
      R"({{"count":{},"seconds":{:.6f},"per_second":{:.1f},"p50_us":{:.2f},"p99_us":{:.2f},"cpu_seconds":{:.4f}}})",
      samples.count(), seconds, static_cast<double>(samples.count()) / seconds,
      samples.percentile(0.5), samples.percentile(0.99), cpu_seconds);
}

}  // namespace bench
