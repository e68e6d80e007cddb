#include "whole_request.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

namespace stepcast {
namespace {

using std::chrono::milliseconds;

/// Two ends of one connection.
struct Ends {
  std::array<int, 2> of{};
  Ends() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, of.data()), 0); }
  ~Ends() {
    close(of[0]);
    close(of[1]);
  }
};

TEST(WholeRequest, AnAnswerThatIsLateIsWrittenAllTheSame) {
  const Ends ends;
  const std::string text = "question";
  WholeRequest request{ends.of[0], text, milliseconds{1}};
  std::this_thread::sleep_for(milliseconds{5});
  EXPECT_TRUE(request.is_writable());
  EXPECT_EQ(request.write("late", 4), 4);
  std::array<char, 8> got{};
  EXPECT_EQ(recv(ends.of[1], got.data(), got.size(), MSG_DONTWAIT), 4);
}

TEST(WholeRequest, WritingEndsSomeTimeAfterItsFirstByte) {
  const Ends ends;
  const std::string text = "question";
  WholeRequest request{ends.of[0], text, milliseconds{1}};
  static_cast<void>(request.write("a", 1));
  std::this_thread::sleep_for(milliseconds{5});
  EXPECT_FALSE(request.is_writable());
  EXPECT_EQ(request.write("b", 1), -1);
}

TEST(WholeRequest, TheTextIsReadOnce) {
  const Ends ends;
  const std::string text = "question";
  WholeRequest request{ends.of[0], text, milliseconds{1}};
  std::array<char, 5> buffer{};
  EXPECT_EQ(request.read(buffer.data(), buffer.size()), 5);
  EXPECT_EQ(std::string(buffer.data(), 5), "quest");
  EXPECT_EQ(request.read(buffer.data(), buffer.size()), 3);
  EXPECT_FALSE(request.is_readable());
}

}  // namespace
}  // namespace stepcast
