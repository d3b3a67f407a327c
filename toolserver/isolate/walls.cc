#include "toolserver/isolate/walls.h"

#include <fmt/format.h>

#include <string_view>

#include "base/json/fields.h"

namespace tool::isolate {
namespace {

using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;

constexpr std::uint64_t kLeastMemory = 16ULL << 20;
constexpr std::uint64_t kMostMemory = 1ULL << 44;
constexpr std::int64_t kMostProcessor = 1'000'000;
constexpr unsigned kLeastFiles = 8;
constexpr unsigned kMostFiles = 65'536;

base::Error out_of_range(std::string_view member) {
  return base::fail(base::ErrorKind::kInvalid,
                    fmt::format("walls.{}: is out of its range", member));
}

base::Result<std::uint64_t> number(const Fields& fields, std::string_view name) {
  ASSIGN_OR_RETURN(std::int64_t value, fields.int64(name));
  if (value < 0) return out_of_range(name);
  return static_cast<std::uint64_t>(value);
}

base::Result<std::vector<Place>> places_from(const Value& value) {
  std::vector<Place> places;
  const Array* list = value.if_array();
  if (list == nullptr) return out_of_range("places");
  for (const Value& item : *list) {
    ASSIGN_OR_RETURN(Fields fields, Fields::of(item, "walls.places"));
    ASSIGN_OR_RETURN(std::string path, fields.string("path"));
    ASSIGN_OR_RETURN(std::uint64_t access, number(fields, "access"));
    if (access > static_cast<std::uint64_t>(Access::kWrite)) return out_of_range("access");
    places.push_back({std::move(path), static_cast<Access>(access)});
  }
  return places;
}

}  // namespace

std::vector<Place> program_places() {
  std::vector<Place> places;
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"}) {
    places.push_back({path, Access::kRun});
  }
  for (const char* path : {"/etc/ld.so.cache", "/etc/localtime", "/etc/ssl", "/etc/nsswitch.conf",
                           "/etc/resolv.conf", "/etc/hosts", "/etc/passwd", "/etc/group",
                           "/etc/alternatives", "/dev/urandom", "/dev/zero"}) {
    places.push_back({path, Access::kRead});
  }
  places.push_back({"/dev/null", Access::kWrite});
  return places;
}

base::Status check(const Walls& walls) {
  if (walls.memory_bytes < kLeastMemory || walls.memory_bytes > kMostMemory) {
    return out_of_range("memory_bytes");
  }
  if (walls.processor.count() < 0 || walls.processor.count() > kMostProcessor) {
    return out_of_range("processor");
  }
  if (walls.files < kLeastFiles || walls.files > kMostFiles) return out_of_range("files");
  if (walls.file_bytes > kMostMemory) return out_of_range("file_bytes");
  for (const Place& place : walls.places) {
    if (place.path.starts_with('/') && !place.path.contains('\0')) continue;
    return base::fail(base::ErrorKind::kInvalid, "walls.places: a path must be absolute");
  }
  return {};
}

Value to_json(const Walls& walls) {
  Array places;
  for (const Place& place : walls.places) {
    places.push_back(Object{{"path", place.path}, {"access", static_cast<int>(place.access)}});
  }
  return Object{{"memory_bytes", walls.memory_bytes},
                {"processor", walls.processor.count()},
                {"files", walls.files},
                {"file_bytes", walls.file_bytes},
                {"network", walls.network == Network::kAllowed},
                {"processes", walls.processes == Processes::kAllowed},
                {"places", std::move(places)},
                {"demand", walls.demand == Demand::kAll},
                {"namespaces", walls.namespaces}};
}

base::Result<Walls> walls_from_json(const Value& value) {
  ASSIGN_OR_RETURN(Fields fields, Fields::of(value, "walls"));
  Walls walls;
  ASSIGN_OR_RETURN(walls.memory_bytes, number(fields, "memory_bytes"));
  ASSIGN_OR_RETURN(std::uint64_t processor, number(fields, "processor"));
  ASSIGN_OR_RETURN(std::uint64_t files, number(fields, "files"));
  if (files > kMostFiles || processor > static_cast<std::uint64_t>(kMostProcessor)) {
    return out_of_range("files or processor");
  }
  walls.processor = std::chrono::seconds(processor);
  walls.files = static_cast<unsigned>(files);
  ASSIGN_OR_RETURN(walls.file_bytes, number(fields, "file_bytes"));
  ASSIGN_OR_RETURN(bool network, fields.boolean("network"));
  ASSIGN_OR_RETURN(bool processes, fields.boolean("processes"));
  ASSIGN_OR_RETURN(bool demand, fields.boolean("demand"));
  ASSIGN_OR_RETURN(walls.namespaces, fields.boolean("namespaces"));
  walls.network = network ? Network::kAllowed : Network::kNone;
  walls.processes = processes ? Processes::kAllowed : Processes::kNone;
  walls.demand = demand ? Demand::kAll : Demand::kWhatThereIs;
  const Value* places = value.get_object().if_contains("places");
  if (places == nullptr) return out_of_range("places");
  ASSIGN_OR_RETURN(walls.places, places_from(*places));
  RETURN_IF_ERROR(check(walls));
  return walls;
}

}  // namespace tool::isolate
