#include "toolserver/settings/bind.h"

// The judges of calls and answers: rules of patterns, a policy engine.

namespace tool::settings {

using base::config::BytesType;
using base::config::DurationType;
using base::config::FlagType;
using base::config::ListType;
using base::config::SecretType;
using base::config::TextType;
using base::config::UrlType;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;

}  // namespace

std::vector<Row> guard_rows() {
  Rows rows("Guard", Change::kLive);
  rows.add("guard.shipped_rules", SETTINGS_MEMBER(guard.shipped_rules),
           ListType{shipped_rules_rule, kShippedRulesRule}, "",
           "Rules that come with the service and look at every call and answer; none when not "
           "set.")
      .add("guard.rules", SETTINGS_MEMBER(guard.rules), ListType{}, "",
           "Rule files of your own, each with its signature beside it in FILE.sig.")
      .add("guard.rules_key_path", SETTINGS_MEMBER(guard.rules_key_path), TextType{}, "",
           "PEM file with the Ed25519 public key that the rule files are signed with.")
      .add("guard.allow_unsigned_rules", SETTINGS_MEMBER(guard.allow_unsigned_rules), FlagType{},
           "0", "1 believes rule files without a signature, where no key is set.")
      .add("guard.scan_bytes", SETTINGS_MEMBER(guard.scan_bytes),
           BytesType{kKiB, 256 * kKiB * kKiB}, "8MiB",
           "Text of one call, or of one answer, that the rules read through; what has more is "
           "denied.")
      .add("guard.scan_time", SETTINGS_MEMBER(guard.scan_time),
           DurationType{milliseconds(10), seconds(60)}, "1",
           "Time that this may take; then it is denied.")
      .add("guard.policy_url", SETTINGS_MEMBER(guard.policy_url), UrlType{}, "",
           "Address of an Open Policy Agent that judges each call and answer, without a path.")
      .add("guard.policy_timeout", SETTINGS_MEMBER(guard.policy_timeout),
           DurationType{milliseconds(10), seconds(5)}, "0.25",
           "Time for its answer; without one nothing is allowed.")
      .add("guard.policy_fail_mode", SETTINGS_MEMBER(guard.policy_fail_mode), choice<FailMode>(),
           "closed",
           "Whether a call goes on when nobody listens at its address, or no way leads there; "
           "after any other fault it never does.")
      .add("guard.policy_token", SETTINGS_MEMBER(guard.policy_token), SecretType{}, "",
           "Sent to it as Authorization: Bearer.")
      .add("guard.policy_ca_cert_path", SETTINGS_MEMBER(guard.policy_ca_cert_path), TextType{}, "",
           "PEM file with its authorities; the system's when not set.")
      .add("guard.policy_question_bytes", SETTINGS_MEMBER(guard.policy_question_bytes),
           BytesType{kKiB, 64 * kKiB * kKiB}, "8MiB",
           "Longest question; a call or an answer that needs a longer one is denied.")
      .add("guard.policy_cache_time", SETTINGS_MEMBER(guard.policy_cache_time),
           DurationType{milliseconds(0), seconds(300)}, "2",
           "Time for which an equal call gets the same answer, while the policies tell their "
           "revision and it is the same; 0 to ask each time.")
      .add("guard.quarantine_file", SETTINGS_MEMBER(guard.quarantine_file), TextType{},
           "quarantine.txt",
           "File with the tools that were taken out of use, a line each; made when the first is.",
           Change::kRestart);
  return std::move(rows).done();
}

}  // namespace tool::settings
