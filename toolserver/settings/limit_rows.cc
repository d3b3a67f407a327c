#include "toolserver/settings/bind.h"

// What one caller, and all together, may use. The defaults are those of
// docs/wire-3.0.md, "Defaults of limits".

namespace tool::settings {

using base::config::BytesType;
using base::config::DurationType;
using base::config::IntegerType;
using std::chrono::hours;
using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr IntegerType kMany{1, 1'000'000};

std::vector<Row> connection_rows() {
  Rows rows("Limits", Change::kLive);
  rows.add("limits.connections", SETTINGS_MEMBER(limits.connections), kMany, "1024",
           "Connections open at once.")
      .add("limits.connections_per_address", SETTINGS_MEMBER(limits.connections_per_address), kMany,
           "64", "Connections from one network address.")
      .add("limits.connections_per_principal", SETTINGS_MEMBER(limits.connections_per_principal),
           kMany, "16", "Connections of one principal.")
      .add("limits.unauthenticated", SETTINGS_MEMBER(limits.unauthenticated), kMany, "128",
           "Connections that have not authenticated yet.")
      .add("limits.message_bytes", SETTINGS_MEMBER(limits.message_bytes),
           BytesType{kKiB, 64 * kMiB}, "1MiB", "Largest message.")
      .add("limits.handshake_bytes", SETTINGS_MEMBER(limits.handshake_bytes), BytesType{kKiB, kMiB},
           "16KiB", "Largest hello or auth message.")
      .add("limits.send_queue_bytes", SETTINGS_MEMBER(limits.send_queue_bytes),
           BytesType{64 * kKiB, 16 * kMiB}, "4MiB",
           "Largest answer as it is sent, with base64 and JSON escapes; a larger one is E_LIMIT.");
  return std::move(rows).done();
}

std::vector<Row> call_rows() {
  Rows rows("Limits", Change::kLive);
  DurationType time{milliseconds(10), hours(1)};
  rows.add("limits.in_flight", SETTINGS_MEMBER(limits.in_flight), IntegerType{1, 65'536}, "64",
           "Calls of one session that run at once.")
      .add("limits.calls_per_second", SETTINGS_MEMBER(limits.calls_per_second), kMany, "50",
           "Requests of one principal in a second, calls of tools among them.")
      .add("limits.burst", SETTINGS_MEMBER(limits.burst), kMany, "100",
           "Requests that a principal may save up.")
      .add("limits.deadline", SETTINGS_MEMBER(limits.deadline), time, "30",
           "Time of a call that names none.")
      .add("limits.max_deadline", SETTINGS_MEMBER(limits.max_deadline), time, "300",
           "Longest time that a call may ask for.")
      .add("limits.output_bytes", SETTINGS_MEMBER(limits.output_bytes), BytesType{kKiB, 64 * kMiB},
           "4MiB", "Largest output of a tool.");
  return std::move(rows).done();
}

}  // namespace

std::vector<Row> limit_rows() {
  std::vector<Row> out = connection_rows();
  for (auto& row : call_rows()) out.push_back(std::move(row));
  return out;
}

}  // namespace tool::settings
