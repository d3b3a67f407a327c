#include "toolserver/pins/pin_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/files/descriptor.h"
#include "base/files/private_file.h"
#include "base/json/fields.h"

namespace tool::pins {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;
using base::files::Descriptor;

constexpr std::int64_t kVersion = 1;

base::Error unavailable(const std::filesystem::path& path) {
  return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

base::Status check_owner(const std::filesystem::path& path, const struct stat& facts) {
  bool ours = facts.st_uid == ::geteuid() || facts.st_uid == 0;
  if (ours && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return fail(ErrorKind::kForbidden,
              path.string() + ": must be of this user or root, and closed to other writers");
}

json::Object to_json(const std::map<std::string, PinnedTool>& tools) {
  json::Object out;
  for (const auto& [id, tool] : tools) {
    out[id] = json::Object{
        {"pin", tool.pin}, {"at_ms", tool.at_ms}, {"note", tool.note}, {"record", tool.record}};
  }
  return out;
}

base::Result<std::map<std::string, PinnedTool>> tools_of(const json::Fields& file,
                                                         std::string_view member) {
  ASSIGN_OR_RETURN(const json::Value* value, file.value(member));
  if (!value->is_object()) return fail(ErrorKind::kInvalid, file.path_of(member));
  std::map<std::string, PinnedTool> out;
  for (const auto& [id, one] : value->get_object()) {
    ASSIGN_OR_RETURN(auto fields, json::Fields::of(one, std::string(id)));
    PinnedTool tool;
    ASSIGN_OR_RETURN(tool.pin, fields.string("pin"));
    ASSIGN_OR_RETURN(tool.at_ms, fields.int64("at_ms"));
    ASSIGN_OR_RETURN(tool.note, fields.string("note"));
    ASSIGN_OR_RETURN(const json::Value* record, fields.value("record"));
    if (!record->is_object()) return fail(ErrorKind::kInvalid, fields.path_of("record"));
    tool.record = record->get_object();
    out.emplace(std::string(id), std::move(tool));
  }
  return out;
}

base::Result<PinFile> parse(std::string_view text) {
  ASSIGN_OR_RETURN(auto value, json::parse(text, {.bytes = PinStore::kFileBytes}));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, ""));
  ASSIGN_OR_RETURN(auto version, fields.int64("version"));
  if (version != kVersion) return fail(ErrorKind::kInvalid, "version: must be 1");
  PinFile file;
  ASSIGN_OR_RETURN(file.seen, tools_of(fields, "seen"));
  ASSIGN_OR_RETURN(file.approved, tools_of(fields, "approved"));
  return file;
}

// Held by whoever reads in order to write, in this process and others.
base::Result<std::unique_ptr<Descriptor>> lock(const std::filesystem::path& path) {
  auto file = std::make_unique<Descriptor>(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file->valid()) return unavailable(path);
  while (::flock(file->get(), LOCK_EX) != 0) {
    if (errno != EINTR) return unavailable(path);
  }
  return file;
}

void compare(const std::string& path, const json::Value* before, const json::Value* after,
             std::vector<std::string>& out) {
  if (before && after && *before == *after) return;
  if (before && after && before->is_object() && after->is_object()) {
    std::set<std::string> members;
    for (const auto& [name, value] : before->get_object()) members.emplace(name);
    for (const auto& [name, value] : after->get_object()) members.emplace(name);
    for (const auto& name : members) {
      compare(path.empty() ? name : path + "." + name, before->get_object().if_contains(name),
              after->get_object().if_contains(name), out);
    }
    return;
  }
  if (before) out.push_back(fmt::format("- {}: {}", path, json::write(*before)));
  if (after) out.push_back(fmt::format("+ {}: {}", path, json::write(*after)));
}

}  // namespace

std::string_view name(PinStatus status) {
  switch (status) {
    case PinStatus::kPinned: return "pinned";
    case PinStatus::kNew: return "new";
    case PinStatus::kChanged: return "changed";
    case PinStatus::kGone: return "gone";
    case PinStatus::kUnusable: return "unusable";
  }
  return "";
}

PinStatus status_of(const PinFile& file, const std::string& id) {
  auto seen = file.seen.find(id);
  if (seen == file.seen.end()) return PinStatus::kGone;
  if (!seen->second.note.empty()) return PinStatus::kUnusable;
  auto approved = file.approved.find(id);
  if (approved == file.approved.end()) return PinStatus::kNew;
  return approved->second.pin == seen->second.pin ? PinStatus::kPinned : PinStatus::kChanged;
}

base::Result<PinStore> PinStore::open(const std::filesystem::path& folder, const std::string& name,
                                      const base::Clock& clock) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return unavailable(folder);
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0) return unavailable(folder);
  if (!S_ISDIR(facts.st_mode)) {
    return fail(ErrorKind::kUnavailable, folder.string() + ": must be a folder");
  }
  RETURN_IF_ERROR(check_owner(folder, facts));
  return PinStore(folder, name, clock);
}

base::Result<PinFile> PinStore::read() const {
  Descriptor file(::open(path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return PinFile();
  if (!file.valid()) return unavailable(path());
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return unavailable(path());
  RETURN_IF_ERROR(check_owner(path(), facts));
  auto text = base::files::read_whole(file.get(), kFileBytes);
  if (!text) return std::move(text).error().with_context(path().string());
  auto parsed = parse(*text);
  if (parsed) return parsed;
  return fail(ErrorKind::kCorrupt, fmt::format("{}: is not a file of pins: {}", path().string(),
                                               parsed.error().message()));
}

base::Status PinStore::write(const PinFile& pins) const {
  json::Object whole{
      {"version", kVersion}, {"seen", to_json(pins.seen)}, {"approved", to_json(pins.approved)}};
  std::string text = json::write(whole);
  if (text.size() > kFileBytes) {
    return fail(ErrorKind::kTooLarge, path().string() + ": would be over 15 MiB");
  }
  return base::files::replace_private_file(path(), text);
}

base::Result<PinFile> PinStore::see(std::map<std::string, PinnedTool> seen, bool trust) {
  ASSIGN_OR_RETURN(auto held, lock(folder_ / (name_ + ".lock")));
  ASSIGN_OR_RETURN(PinFile file, read());
  std::int64_t now =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_->now().time_since_epoch())
          .count();
  bool changed = false;
  for (auto& [id, tool] : seen) {
    auto before = file.seen.find(id);
    bool same = before != file.seen.end() && before->second.pin == tool.pin &&
                before->second.note == tool.note;
    tool.at_ms = same ? before->second.at_ms : now;
    changed = changed || !same;
    if (!trust || !tool.note.empty() || file.approved.contains(id) ||
        file.approved.size() >= kApprovals) {
      continue;
    }
    file.approved.emplace(id, PinnedTool{tool.pin, tool.record, now, "first sight"});
    changed = true;
  }
  changed = changed || seen.size() != file.seen.size();
  file.seen = std::move(seen);
  if (changed) RETURN_IF_ERROR(write(file));
  return file;
}

base::Status PinStore::approve(const std::string& id, std::string_view pin) {
  ASSIGN_OR_RETURN(auto held, lock(folder_ / (name_ + ".lock")));
  ASSIGN_OR_RETURN(PinFile file, read());
  auto seen = file.seen.find(id);
  if (seen == file.seen.end()) return fail(ErrorKind::kNotFound, id + ": is not offered");
  if (!seen->second.note.empty()) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: cannot be offered: {}", id, seen->second.note));
  }
  if (seen->second.pin != pin) {
    return fail(ErrorKind::kConflict, id + ": has another pin than the one that was looked at");
  }
  if (!file.approved.contains(id) && file.approved.size() >= kApprovals) {
    return fail(ErrorKind::kTooLarge, "more than 1024 tools are approved; revoke some");
  }
  std::int64_t now =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_->now().time_since_epoch())
          .count();
  file.approved[id] = {seen->second.pin, seen->second.record, now, "operator"};
  return write(file);
}

base::Status PinStore::revoke(const std::string& id) {
  ASSIGN_OR_RETURN(auto held, lock(folder_ / (name_ + ".lock")));
  ASSIGN_OR_RETURN(PinFile file, read());
  if (file.approved.erase(id) == 0) return fail(ErrorKind::kNotFound, id + ": is not approved");
  return write(file);
}

std::string PinStore::stamp() const {
  struct stat facts{};
  if (::stat(path().c_str(), &facts) != 0) return {};
  return fmt::format("{}:{}:{}.{}", facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec);
}

std::vector<std::string> differences(const json::Object& approved, const json::Object& seen) {
  std::vector<std::string> out;
  json::Value before(approved);
  json::Value after(seen);
  compare("", &before, &after, out);
  return out;
}

}  // namespace tool::pins
