#include "toolserver/session/record.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tool::session {
namespace {

using base::crypto::Aead;

constexpr char kMark = 'S';
constexpr char kType = 1;
constexpr std::size_t kEpochAt = 2;
constexpr std::size_t kCounterAt = 4;

Aead make_aead(const RecordStart& start, Aead::Use use) {
  auto aead = Aead::create(start.algorithm, start.key, use);
  if (!aead || start.iv.size() != std::tuple_size_v<Aead::Nonce>) std::abort();  // Sizes are ours.
  return std::move(*aead);
}

void write_big_endian(char* out, std::uint64_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; --i, number >>= 8) out[i] = static_cast<char>(number & 0xff);
}

}  // namespace

RecordStart record_start(Suite suite, const SessionKeys& keys, Direction direction,
                         const Digest& transcript, std::uint16_t epoch) {
  bool to_server = direction == Direction::kClientToServer;
  return {.algorithm = traits(suite).aead,
          .key = keys.key(to_server ? KeyLabel::kC2sKey : KeyLabel::kS2cKey).reveal(),
          .iv = keys.key(to_server ? KeyLabel::kC2sIv : KeyLabel::kS2cIv).reveal(),
          .transcript = transcript,
          .epoch = epoch};
}

RecordState::RecordState(const RecordStart& start, Aead::Use use)
    : aead_(make_aead(start, use)), iv_(SecretBytes::copy_of(start.iv)), counter_(start.counter) {
  bound_[0] = kMark;
  bound_[1] = kType;
  write_big_endian(bound_.data() + kEpochAt, start.epoch, 2);
  write_counter();
  std::ranges::copy(start.transcript, bound_.begin() + kRecordHeaderBytes);
}

void RecordState::write_counter() { write_big_endian(bound_.data() + kCounterAt, counter_, 8); }

bool RecordState::reached(const RekeyLimits& limits, std::uint64_t times) const {
  return records_ / times >= limits.records || bytes_ / times >= limits.bytes;
}

void RecordState::advance(std::size_t bytes) {
  ++counter_;
  ++records_;
  bytes_ += bytes;
  write_counter();
}

Aead::Nonce RecordState::nonce() const {
  Aead::Nonce nonce{};
  std::ranges::copy(iv_.reveal(), nonce.begin());
  for (std::size_t i = 0; i < 8; ++i) {
    nonce[i + 4] ^= static_cast<unsigned char>(bound_[kCounterAt + i]);
  }
  return nonce;
}

std::string RecordSealer::seal(std::string_view plaintext) {
  std::string out;
  out.reserve(plaintext.size() + kRecordOverhead);
  out += header();
  aead_.seal_into(nonce(), additional_data(), plaintext, out);
  advance(out.size());
  return out;
}

Outcome<std::string> RecordOpener::open(std::string_view record) {
  if (record.size() < kRecordOverhead || record[0] != kMark || record[1] != kType) {
    return refuse(Code::kParse, "not a record");
  }
  if (!record.starts_with(header())) {
    return refuse(Code::kReplay, "not the record that comes next");
  }
  std::string plaintext;
  plaintext.reserve(record.size() - kRecordOverhead);
  auto opened =
      aead_.open_into(nonce(), additional_data(), record.substr(kRecordHeaderBytes), plaintext);
  if (!opened) return refuse(Code::kSignature, "the record's tag is wrong");
  advance(record.size());
  return plaintext;
}

}  // namespace tool::session
