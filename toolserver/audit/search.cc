#include "toolserver/audit/search.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

#include "base/json/fields.h"
#include "toolserver/audit/chain.h"
#include "toolserver/audit/segment.h"
#include "toolserver/audit/segment_reader.h"

namespace tool::audit {
namespace {

using base::json::Fields;

struct Line {
  std::uint64_t seq = 0;
  std::string text;
};

// Whether a member of a record is the text that is wanted, if one is.
bool has(const base::Result<std::optional<std::string>>& member, const std::string& wanted) {
  return wanted.empty() || (member && *member == wanted);
}

bool is_wanted(const Fields& fields, const Wanted& wanted) {
  auto kind = fields.opt_string("kind");
  bool is_of_kind = wanted.kind.empty() ? kind && *kind != "checkpoint" : has(kind, wanted.kind);
  if (!is_of_kind || !has(fields.opt_string("tool"), wanted.tool)) return false;
  if (wanted.principal.empty()) return true;
  auto principal = fields.opt_object("principal");
  return principal && *principal && has((*principal)->opt_string("sub"), wanted.principal);
}

// The number of a line that is wanted; 0 for any other.
std::uint64_t seq_of_wanted(std::string_view line, const Wanted& wanted) {
  // Cheap first: the text of most lines says that they are others.
  for (const std::string* word : {&wanted.text, &wanted.tool}) {
    if (!word->empty() && !line.contains(*word)) return 0;
  }
  auto value = base::json::parse(line, {.bytes = kMaxLine});
  if (!value) return 0;
  auto fields = Fields::of(*value, "line");
  if (!fields || !is_wanted(*fields, wanted)) return 0;
  auto seq = fields->int64("seq");
  bool is_before =
      seq && *seq > 0 && (wanted.before == 0 || static_cast<std::uint64_t>(*seq) < wanted.before);
  return is_before ? static_cast<std::uint64_t>(*seq) : 0;
}

// The last `most` lines of a file that are wanted, in their order.
base::Result<std::deque<Line>> last_of(const std::string& path, const Wanted& wanted,
                                       std::size_t most) {
  std::deque<Line> lines;
  ASSIGN_OR_RETURN(auto reader, SegmentReader::open(path));
  while (true) {
    ASSIGN_OR_RETURN(auto line, reader.next());
    if (line.kind != SegmentReader::Kind::kWhole) return lines;
    if (std::uint64_t seq = seq_of_wanted(line.text, wanted); seq > 0) {
      lines.push_back({seq, std::string(line.text)});
      if (lines.size() > most) lines.pop_front();
    }
  }
}

std::uint64_t bytes_of(const std::string& path) {
  std::error_code error;
  auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

}  // namespace

base::Result<Found> search(const std::string& folder, const Wanted& wanted) {
  ASSIGN_OR_RETURN(auto segments, list_segments(folder));
  Found found;
  std::uint64_t read = 0;
  std::uint64_t oldest = 0;  // Of the lines that were found.
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    if (wanted.before > 0 && segment->first_seq >= wanted.before) continue;
    if (read >= kSearchBytes) {
      // What the file before this one begins with was looked at.
      found.next = std::prev(segment)->first_seq;
      return found;
    }
    read += bytes_of(segment->path);
    ASSIGN_OR_RETURN(auto lines, last_of(segment->path, wanted, wanted.most - found.lines.size()));
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      oldest = line->seq;
      found.lines.push_back(std::move(line->text));
    }
    if (found.lines.size() >= wanted.most) {
      found.next = oldest > 1 ? oldest : 0;
      return found;
    }
  }
  return found;
}

}  // namespace tool::audit
