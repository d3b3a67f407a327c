// Runs a fuzz target over the files of its corpus, once each: what was found
// before is tried again in every build, with any compiler.
// usage: <target>_corpus [folder or file]...

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Optional in a target.
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace {

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

// The name is told first, so that the last line names the input that failed.
void run_file(const std::filesystem::path& file) {
  std::printf("%s\n", file.filename().c_str());
  std::fflush(stdout);
  std::ifstream in(file, std::ios::binary);
  run({std::istreambuf_iterator<char>(in), {}});
}

// Files, and the files of folders, in the order of their names.
std::vector<std::filesystem::path> files_of(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> out;
  for (const auto& place : places) {
    if (std::filesystem::is_regular_file(place)) out.emplace_back(place);
    if (!std::filesystem::is_directory(place)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
      if (entry.is_regular_file()) out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  run({});
  auto files = files_of({argv + 1, argv + argc});
  for (const auto& file : files) run_file(file);
  std::printf("%zu inputs\n", files.size());
  return 0;
}
