// Any bytes as a file of pins: it is refused, or it is read again as it is written, every tool has
// a status, and only what was approved with the pin that is seen counts as pinned.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/scratch_folder.h"
#include "toolserver/pins/pin_store.h"

namespace {

using tool::pins::PinFile;
using tool::pins::PinStatus;
using tool::pins::PinStore;

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(const PinFile& a, const PinFile& b) {
  auto equal = [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.pin == other.second.pin &&
           one.second.record == other.second.record && one.second.note == other.second.note;
  };
  return std::ranges::equal(a.approved, b.approved, equal) &&
         std::ranges::equal(a.seen, b.seen, equal);
}

void check_status(const PinFile& file) {
  for (const auto& [id, seen] : file.seen) {
    const auto approved = file.approved.find(id);
    const bool is_as_approved = approved != file.approved.end() && approved->second.pin == seen.pin;
    const PinStatus status = status_of(file, id);
    require((status == PinStatus::kPinned) == (is_as_approved && seen.note.empty()));
    if (approved == file.approved.end()) continue;
    const auto lines = tool::pins::differences(approved->second.record, seen.record);
    require(lines.empty() == (approved->second.record == seen.record));
  }
  for (const auto& [id, approved] : file.approved) {
    require(file.seen.contains(id) || status_of(file, id) == PinStatus::kGone);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchFolder folder;
  static const base::SystemClock clock;
  auto store = PinStore::open(folder.path(), "b", clock);
  require(store.has_value());
  put_file(store->path(), {reinterpret_cast<const char*>(data), size});
  const auto read = store->read();
  if (!read) return 0;
  check_status(*read);
  // Nothing is seen, and then again what was: written each time, and no approval is lost or made.
  require(store->see({}, false).has_value());
  const auto written = store->see(read->seen, false);
  require(written.has_value());
  const auto again = store->read();
  require(again && same(*again, *read));
  return 0;
}
