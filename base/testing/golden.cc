#include "base/testing/golden.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/testing/repository.h"

namespace base::testing {
namespace {

std::filesystem::path path_of(std::string_view name) {
  return repository() / "tests" / "golden" / name;
}

}  // namespace

std::string read_golden(std::string_view name) {
  std::ifstream in(path_of(name), std::ios::binary);
  if (!in) {
    fmt::print(stderr, "no golden file {}\n", path_of(name).string());
    std::abort();
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool matches_golden(std::string_view name, std::string_view bytes) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream out(path_of(name), std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  return read_golden(name) == bytes;
}

}  // namespace base::testing
