#include "toolserver/discovery/dns_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tool::discovery {
namespace {

using base::ErrorKind;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kName = "_scp._tcp.plant.test";
constexpr int kA = 1;
constexpr int kCname = 5;
constexpr int kAaaa = 28;
constexpr int kSrv = 33;

std::string u16(unsigned value) {
  return {static_cast<char>(value >> 8 & 0xFF), static_cast<char>(value & 0xFF)};
}
std::string u32(std::uint32_t value) { return u16(value >> 16) + u16(value & 0xFFFF); }

std::string name(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    auto dot = std::min(text.find('.', at), text.size());
    out += static_cast<char>(dot - at) + text.substr(at, dot - at);
    at = dot + 1;
  }
  return out + '\0';
}

std::string record(const std::string& owner, int type, std::uint32_t ttl, const std::string& data,
                   unsigned of_class = 1) {
  return name(owner) + u16(static_cast<unsigned>(type)) + u16(of_class) + u32(ttl) +
         u16(static_cast<unsigned>(data.size())) + data;
}

std::string srv(unsigned priority, unsigned weight, unsigned port, const std::string& target) {
  return u16(priority) + u16(weight) + u16(port) + name(target);
}

struct Message {
  unsigned flags = 0x8180;  // An answer, without a fault.
  std::string question = kName;
  int type = kSrv;
  std::vector<std::string> records;

  [[nodiscard]] std::string bytes() const {
    std::string out = u16(7) + u16(flags) + u16(1) + u16(static_cast<unsigned>(records.size())) +
                      u16(0) + u16(0) + name(question) + u16(static_cast<unsigned>(type)) + u16(1);
    for (const auto& one : records) out += one;
    return out;
  }
};

TEST(DnsAnswer, gives_the_records_best_first) {
  Message message;
  message.records = {
      record(kName, kSrv, 60, srv(20, 1, 7443, "node-c.plant.test")),
      record("_SCP._tcp.Plant.test", kSrv, 30, srv(10, 1, 7443, "NODE-B.plant.test")),
      record(kName, kSrv, 90, srv(10, 9, 7444, "node-d.plant.test"))};
  auto read = read_services(message.bytes(), kName);
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_THAT(*read, SizeIs(3));
  EXPECT_EQ((*read)[0].target, "node-d.plant.test");
  EXPECT_EQ((*read)[1].target, "node-b.plant.test");
  EXPECT_EQ((*read)[1].port, 7443);
  EXPECT_EQ((*read)[1].ttl, seconds(30));
  EXPECT_EQ((*read)[2].target, "node-c.plant.test");
}

TEST(DnsAnswer, takes_no_record_of_another_name_type_or_class) {
  Message message;
  message.records = {record("_scp._tcp.evil.test", kSrv, 60, srv(0, 0, 1, "node-b.evil.test")),
                     record("plant.test", kA, 60, "\x7f\0\0\1"),
                     record(kName, kCname, 60, name("_scp._tcp.evil.test")),
                     record(kName, kSrv, 60, srv(0, 0, 1, "node-b.evil.test"), /*of_class=*/3)};
  auto read = read_services(message.bytes(), kName);
  ASSERT_TRUE(read);
  EXPECT_THAT(*read, IsEmpty());
}

TEST(DnsAnswer, says_none_for_a_name_that_does_not_exist_and_could_not_tell_for_a_fault) {
  Message message;
  message.flags = 0x8183;
  EXPECT_THAT(*read_services(message.bytes(), kName), IsEmpty());
  for (unsigned code : {1U, 2U, 4U, 5U}) {
    message.flags = 0x8180 | code;
    EXPECT_EQ(read_services(message.bytes(), kName).error().kind(), ErrorKind::kUnavailable)
        << code;
  }
}

TEST(DnsAnswer, that_is_none_is_refused) {
  Message good;
  good.records = {record(kName, kSrv, 60, srv(0, 0, 1, "node-b.plant.test"))};
  ASSERT_TRUE(read_services(good.bytes(), kName));
  auto refused = [](const std::string& bytes) {
    auto read = read_services(bytes, kName);
    return !read && read.error().kind() == ErrorKind::kInvalid;
  };
  Message question = good;
  question.flags = 0x0100;
  EXPECT_TRUE(refused(question.bytes()));
  Message cut = good;
  cut.flags = 0x8380;
  EXPECT_TRUE(refused(cut.bytes()));
  Message other = good;
  other.question = "_scp._tcp.evil.test";
  EXPECT_TRUE(refused(other.bytes()));
  other = good;
  other.type = kA;
  EXPECT_TRUE(refused(other.bytes()));
  EXPECT_TRUE(refused(""));
  // Every message that ends too early.
  std::string whole = good.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(refused(whole.substr(0, size))) << size;
  }
}

TEST(DnsAnswer, with_a_broken_record_is_refused) {
  for (const auto& data : {std::string(6, '\0'), std::string(3, '\0'), srv(0, 0, 1, "b.test") + "x",
                           u16(0) + u16(0) + u16(1) + "\xC0\xFF"}) {
    Message message;
    message.records = {record(kName, kSrv, 60, data)};
    EXPECT_FALSE(read_services(message.bytes(), kName));
  }
  // A name that points to itself.
  Message loop;
  loop.records = {record(kName, kSrv, 60, u16(0) + u16(0) + u16(1))};
  std::string bytes = loop.bytes();
  std::size_t here = bytes.size();
  bytes[here - 7] = 8;  // The length of the data, two bytes more.
  bytes += static_cast<char>(0xC0 | (here >> 8)) + std::string(1, static_cast<char>(here));
  EXPECT_FALSE(read_services(bytes, kName));
}

TEST(DnsAnswer, has_bounds) {
  Message message;
  message.records.assign(kRecords, record(kName, kSrv, 60, srv(0, 0, 1, "b.test")));
  EXPECT_THAT(*read_services(message.bytes(), kName), SizeIs(kRecords));
  message.records.push_back(message.records[0]);
  EXPECT_EQ(read_services(message.bytes(), kName).error().kind(), ErrorKind::kTooLarge);
  Message times;
  times.records = {record(kName, kSrv, 0xFFFF'FFFFU, srv(0, 0, 1, "b.test")),
                   record(kName, kSrv, 0x7FFF'FFFFU, srv(1, 0, 1, "b.test"))};
  auto read = read_services(times.bytes(), kName);
  EXPECT_EQ((*read)[0].ttl, seconds(0));
  EXPECT_EQ((*read)[1].ttl, std::chrono::days(7));
}

TEST(DnsAnswer, gives_addresses_of_the_name_alone) {
  Message message{.question = "node-b.plant.test", .type = kA, .records = {}};
  message.records = {record("node-b.plant.test", kA, 5, std::string("\x7f\0\0\1", 4)),
                     record("evil.test", kA, 5, std::string("\x7f\0\0\2", 4)),
                     record("node-b.plant.test", kCname, 5, name("evil.test"))};
  auto read = read_addresses(message.bytes(), "node-b.plant.test", RecordType::kA);
  ASSERT_TRUE(read);
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_EQ((*read)[0].address, "127.0.0.1");
  EXPECT_EQ((*read)[0].ttl, seconds(5));
  message.records = {record("node-b.plant.test", kA, 5, "\x7f\1")};
  EXPECT_FALSE(read_addresses(message.bytes(), "node-b.plant.test", RecordType::kA));
  message.type = kAaaa;
  message.records = {record("node-b.plant.test", kAaaa, 5, std::string(15, '\0') + "\1")};
  read = read_addresses(message.bytes(), "node-b.plant.test", RecordType::kAaaa);
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_EQ((*read)[0].address, "::1");
}

}  // namespace
}  // namespace tool::discovery
