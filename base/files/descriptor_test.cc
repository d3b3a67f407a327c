#include "base/files/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

namespace base::files {
namespace {

TEST(Descriptor, closes_what_it_holds_once) {
  int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    Descriptor first(fd);
    Descriptor second(std::move(first));
    EXPECT_EQ(second.get(), fd);
    EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST(WriteAll, goes_on_where_a_write_took_a_part) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const std::string text(1 << 20, 'x');  // More than a pipe holds.
  std::string got;
  std::thread reader([&] {
    std::array<char, 4096> part{};
    for (ssize_t size = 0; (size = ::read(from.get(), part.data(), part.size())) > 0;) {
      got.append(part.data(), static_cast<std::size_t>(size));
    }
  });
  EXPECT_TRUE(write_all(to.get(), text));
  to.close();
  reader.join();
  EXPECT_EQ(got, text);
}

TEST(WriteAll, says_why_not) {
  EXPECT_FALSE(write_all(-1, "x"));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace base::files
