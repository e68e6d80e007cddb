#include "progress.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <iostream>
#include <string_view>

#include "commands.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t bar_width = 30;
constexpr double longest_silence = 10;  ///< s
constexpr auto between_drawings = 100ms, between_lines = 1000ms;

std::string left_text(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

Progress::Progress()
    : begin_{std::chrono::steady_clock::now()},
      terminal_{isatty(STDERR_FILENO) == 1},
      quiet_{!spdlog::should_log(spdlog::level::warn)} {}

Progress::~Progress() {
  // What follows begins on an empty line.
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::step(std::size_t finished, std::size_t of, const std::string& line) {
  if (quiet_) return;
  if (!terminal_) {
    std::cerr << fmt::format("{}/{} {}\n", finished, of, line);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  // The last step is always drawn.
  if (drawn_ && now - shown_ < between_drawings && finished < of) return;
  shown_ = now;
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  // The mean since the beginning: points of one sweep take alike times, and it does not jump.
  const double rate = static_cast<double>(finished) / std::max(elapsed, 1e-9);
  const std::size_t cells = bar_width * finished / of;
  std::cerr << fmt::format("\r\x1b[K[{}{}] {}/{}  {:.1f}/s  {} left", std::string(cells, '#'),
                           std::string(bar_width - cells, '-'), finished, of, rate,
                           left_text(static_cast<double>(of - finished) / rate))
            << std::flush;
}

PhaseProgress::PhaseProgress(std::string command)
    : command_{std::move(command)}, watch_{[this](std::size_t finished, std::size_t of) {
        told(finished, of);
      }} {}

void PhaseProgress::told(std::size_t finished, std::size_t of) {
  if (of == 0) return;
  const auto now = std::chrono::steady_clock::now();
  // Each phase of a command counts from 0.
  if (finished == 0) {
    ++phase_;
    begin_ = logged_ = now;
    bar_.reset();
    if (isatty(STDERR_FILENO) == 1) bar_ = std::make_unique<Progress>();
    return;
  }
  if (bar_) {
    bar_->step(finished, of, {});
    if (finished == of) bar_.reset();
    return;
  }
  if (finished < of && now - logged_ < between_lines) return;
  logged_ = now;
  const double elapsed = std::max(std::chrono::duration<double>(now - begin_).count(), 1e-9);
  const double rate = static_cast<double>(finished) / elapsed;
  const std::string phase =
      current_phase().empty() ? fmt::format("phase {}", phase_) : current_phase();
  spdlog::debug("{}, {}: {}/{}, {:.1f}/s, {} left", command_, phase, finished, of, rate,
                left_text(static_cast<double>(of - finished) / rate));
}

WorkProgress::WorkProgress(bool quiet)
    : quiet_{quiet},
      watch_{[this](const LongWork& work) { expected(work); },
             [this](double share) { told(share); }} {}

void WorkProgress::expected(const LongWork& work) {
  work_ = work;
  announced_ = false;
  bar_.reset();
  begin_ = logged_ = std::chrono::steady_clock::now();
  // Short work says nothing: a line that is gone before it is read disturbs.
  if (work.seconds > longest_silence) announce(work.seconds);
}

void WorkProgress::announce(double seconds) {
  announced_ = true;
  if (quiet_) return;
  std::cerr << fmt::format("{} takes about {} and {}; Ctrl-C ends it\n", work_.what,
                           left_text(seconds), human(Bytes{work_.bytes}))
            << std::flush;
  if (isatty(STDERR_FILENO) == 1) bar_ = std::make_unique<Progress>();
}

void WorkProgress::told(double share) {
  constexpr double least_share = 0.01;
  constexpr auto first_look = 2000ms, between_reports = 10'000ms;
  constexpr std::size_t parts = 1000;
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double all = elapsed / std::max(share, 1e-9);
  // An estimate may be wrong; what was done so far says better how long the rest takes.
  if (!announced_ && now - begin_ > first_look && share > least_share && all > longest_silence)
    announce(all);
  if (!announced_ || quiet_) return;
  if (bar_) {
    bar_->step(static_cast<std::size_t>(share * parts), parts, {});
    if (share >= 1) bar_.reset();
    return;
  }
  if (now - logged_ < between_reports || share < least_share) return;
  logged_ = now;
  std::cerr << fmt::format("{}: {:.0f} %, {} left\n", work_.what, 100 * share,
                           left_text(all - elapsed))
            << std::flush;
}

namespace {

pid_t interrupted_process = 0;

/// Only what may be called in a handler.
void interrupted(int signal) {
  if (getpid() == interrupted_process) {
    remove_unfinished_file();
    constexpr std::string_view clear = "\r\x1b[K", text = "interrupted\n";
    if (isatty(STDERR_FILENO) == 1)
      static_cast<void>(!write(STDERR_FILENO, clear.data(), clear.size()));
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  }
  // Ends as by the signal itself, so that a shell sees why.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void end_cleanly() {
  interrupted_process = getpid();
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    // Who runs it in the background of a script has told it not to listen.
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = interrupted;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace stepcast::cli
