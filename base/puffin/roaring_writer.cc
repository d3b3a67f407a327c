#include <algorithm>
#include <array>
#include <utility>

#include "base/puffin/roaring.h"

namespace base::puffin {
namespace {

using Values = std::span<const std::int64_t>;

constexpr std::uint32_t kCookieWithoutRuns = 12'346;
constexpr std::uint32_t kCookieWithRuns = 12'347;
constexpr std::size_t kLeastWithOffsets = 4;
constexpr std::size_t kMostInArray = 4096;
constexpr std::size_t kBitsetBytes = 8192;

template <class Number>
void put(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
}

std::uint16_t low16(std::int64_t value) { return static_cast<std::uint16_t>(value); }

enum class Form : std::uint8_t { kArray, kBitset, kRuns };

// Values that share all bits but the lowest 16.
struct Container {
  Values values;
  std::size_t runs = 1;
  Form form = Form::kArray;

  [[nodiscard]] std::uint16_t key() const { return low16(values.front() >> 16); }
  [[nodiscard]] std::size_t size() const {
    switch (form) {
      case Form::kArray: return 2 * values.size();
      case Form::kBitset: return kBitsetBytes;
      case Form::kRuns: return 2 + 4 * runs;
    }
    std::unreachable();
  }
};

// The values at the front with the same bits above the lowest `bits`.
Values take_group(Values& values, int bits) {
  auto key = values.front() >> bits;
  auto end = std::ranges::partition_point(values, [&](auto value) { return value >> bits == key; });
  Values group(values.begin(), end);
  values = values.subspan(group.size());
  return group;
}

Container make_container(Values values) {
  Container out{.values = values};
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] != values[i - 1] + 1) ++out.runs;
  }
  if (values.size() > kMostInArray) out.form = Form::kBitset;
  Container with_runs = out;
  with_runs.form = Form::kRuns;
  return with_runs.size() < out.size() ? with_runs : out;
}

void put_runs(std::string& out, const Container& container) {
  put(out, static_cast<std::uint16_t>(container.runs));
  for (std::size_t begin = 0; begin < container.values.size();) {
    std::size_t end = begin + 1;
    while (end < container.values.size() &&
           container.values[end] == container.values[end - 1] + 1) {
      ++end;
    }
    put(out, low16(container.values[begin]));
    put(out, static_cast<std::uint16_t>(end - begin - 1));
    begin = end;
  }
}

void put_bitset(std::string& out, const Container& container) {
  std::array<std::uint8_t, kBitsetBytes> bits{};
  for (auto value : container.values) {
    bits[low16(value) / 8] |= static_cast<std::uint8_t>(1 << low16(value) % 8);
  }
  out.append(reinterpret_cast<const char*>(bits.data()), bits.size());
}

void put_container(std::string& out, const Container& container) {
  switch (container.form) {
    case Form::kArray:
      for (auto value : container.values) put(out, low16(value));
      return;
    case Form::kBitset: return put_bitset(out, container);
    case Form::kRuns: return put_runs(out, container);
  }
}

bool has_runs(const Container& container) { return container.form == Form::kRuns; }

// Cookie, number of containers and, where there are any, which have runs.
void put_cookie(std::string& out, const std::vector<Container>& containers, bool with_runs) {
  if (!with_runs) {
    put(out, kCookieWithoutRuns);
    put(out, static_cast<std::uint32_t>(containers.size()));
    return;
  }
  put(out, kCookieWithRuns | static_cast<std::uint32_t>(containers.size() - 1) << 16);
  std::string flags((containers.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (has_runs(containers[i])) flags[i / 8] |= static_cast<char>(1 << i % 8);
  }
  out += flags;
}

void put_roaring32(std::string& out, const std::vector<Container>& containers) {
  std::size_t begin = out.size();
  bool with_runs = std::ranges::any_of(containers, has_runs);
  put_cookie(out, containers, with_runs);
  for (const auto& container : containers) {
    put(out, container.key());
    put(out, static_cast<std::uint16_t>(container.values.size() - 1));
  }
  if (!with_runs || containers.size() >= kLeastWithOffsets) {
    std::size_t offset = out.size() - begin + 4 * containers.size();
    for (const auto& container : containers) {
      put(out, static_cast<std::uint32_t>(offset));
      offset += container.size();
    }
  }
  for (const auto& container : containers) put_container(out, container);
}

}  // namespace

std::string write_roaring64(Values values) {
  std::string parts;
  std::uint64_t count = 0;
  for (; !values.empty(); ++count) {
    Values part = take_group(values, 32);
    put(parts, static_cast<std::uint32_t>(part.front() >> 32));
    std::vector<Container> containers;
    while (!part.empty()) containers.push_back(make_container(take_group(part, 16)));
    put_roaring32(parts, containers);
  }
  std::string out;
  put(out, count);
  return out + parts;
}

}  // namespace base::puffin
