// Any bytes as a body in chunks: the reader ends in one way however they are cut and however little
// room there is, gives no more than was announced, and calls nothing done that it did not check.
// The first byte of the input chooses the form, the second the length that was announced.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lakeproxy/gateway/aws_chunks.h"

namespace {

using lake::gateway::ChunkReader;
using lake::gateway::ChunkRules;

ChunkRules rules_of(std::uint8_t form, std::uint8_t length) {
  ChunkRules rules;
  rules.form = {.is_signed = (form & 1) != 0, .has_trailer = (form & 2) != 0};
  rules.length = length;
  constexpr const char* kFields[] = {"crc32", "crc32c", "crc64nvme", "sha1", "sha256", "none"};
  if (rules.form.has_trailer)
    rules.trailer = std::string("x-amz-checksum-") + kFields[form / 4 % 6];
  rules.seed.signing_key = "key";
  return rules;
}

struct Outcome {
  bool made = false;
  bool failed = false;
  bool done = false;
  std::string text;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome read(ChunkRules rules, std::string_view bytes, std::size_t step, std::size_t room) {
  Outcome outcome;
  const std::uint64_t length = rules.length;
  auto reader = ChunkReader::make(std::move(rules));
  if (!reader) return outcome;
  outcome.made = true;
  std::string out(room, '\0');
  while (!bytes.empty() && !outcome.failed) {
    std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    while (!piece.empty() && !outcome.failed) {
      auto progress = reader->feed(piece, out);
      outcome.failed = !progress;
      if (!progress) break;
      if (progress->used > piece.size() || progress->given > out.size()) std::abort();
      if (progress->used == 0 && progress->given == 0) std::abort();  // It would go on for ever.
      outcome.text.append(out, 0, progress->given);
      piece.remove_prefix(progress->used);
    }
  }
  if (outcome.text.size() > length) std::abort();
  outcome.done = !outcome.failed && reader->is_done();
  if (outcome.done && outcome.text.size() != length) std::abort();
  // What had been given before a fault depends on how it was cut, and nobody keeps it.
  if (outcome.failed) outcome.text.clear();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Outcome whole = read(rules_of(data[0], data[1]), bytes, size, 256);
  if (read(rules_of(data[0], data[1]), bytes, 1, 1) != whole) std::abort();
  if (read(rules_of(data[0], data[1]), bytes, 7, 3) != whole) std::abort();
  // Nobody but the holder of the key makes a signature that fits.
  if (whole.done && (data[0] & 1) != 0) std::abort();
  return 0;
}
