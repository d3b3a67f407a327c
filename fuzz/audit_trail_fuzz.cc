// Any bytes as a file of the trail, and any JSON objects as its records, linked as somebody without
// the key would link them: what is read is counted and never vouched for, and what is found stands
// in the file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json/canonical.h"
#include "base/json/json.h"
#include "fuzz/scratch_folder.h"
#include "toolserver/audit/chain.h"
#include "toolserver/audit/past_calls.h"
#include "toolserver/audit/recovery.h"
#include "toolserver/audit/search.h"
#include "toolserver/audit/segment.h"
#include "toolserver/audit/verify.h"

namespace {

using namespace tool::audit;  // NOLINT: this file is about nothing else.

void require(bool holds) {
  if (!holds) std::abort();
}

const CheckpointKeys& keys() {
  static const CheckpointKeys all = [] {
    CheckpointKeys made;
    made.add(base::Secret("nobody has signed a seed with this one"));
    return made;
  }();
  return all;
}

VerifyReport check(const std::string& folder, std::string_view trail) {
  auto report = verify(folder, keys());
  require(report.has_value());
  require(report->keys.empty() && report->signed_seq == 0 && report->signatures_checked);
  require(report->checkpoints == 0 || !report->is_intact());
  require(!report->to_text().empty() && report->to_json().contains("intact"));

  constexpr std::size_t kMost = 3;
  auto found = search(folder, {.most = kMost});
  require(found && found->lines.size() <= kMost);
  for (const auto& line : found->lines) require(trail.contains(line + "\n"));
  std::ignore = past_calls(folder, {}, kMost);
  return *std::move(report);
}

// A number without a fraction may be too large to be read as the integer that it is written as.
bool has_one_text(const base::json::Object& record) {
  const auto text = base::json::canonical(record);
  if (!text) return false;
  const auto again = base::json::parse(*text);
  if (!again) return false;
  const auto same = base::json::canonical(*again);
  return same && *same == *text;
}

// The objects of the lines as records that follow each other.
std::string linked(std::string_view text) {
  ChainHead head;
  std::string trail;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    auto record = base::json::parse(line, {.bytes = 1 << 14});
    if (!record || !record->is_object()) continue;
    record->get_object().erase("hash");
    if (has_one_text(record->get_object())) link(head, record->get_object(), trail);
  }
  return trail;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchFolder scratch;
  const std::string folder = scratch.path().string();
  const std::string file = segment_path(folder, 1);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  put_file(file, text);
  std::ignore = check(folder, text);

  const std::string trail = linked(text);
  put_file(file, trail);
  const VerifyReport report = check(folder, trail);
  if (report.broken) {
    constexpr std::string_view kLinks[] = {"not_json", "not_canonical", "seq",
                                           "prev",     "hash",          "torn"};
    require(std::ranges::find(kLinks, report.broken->rule) == std::end(kLinks));
  }
  // A trail with a checkpoint that no key made is evidence, and not gone on with.
  if (auto recovered = recover(folder, keys())) require(recovered->signed_seq == 0);
  return 0;
}
