#include "progress.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cmath>
#include <iostream>

#include "stepcast/base/phases.hpp"

namespace stepcast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t bar_width = 30;
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

void Progress::step(std::size_t done, std::size_t of, const std::string& line) {
  if (quiet_) return;
  if (!terminal_) {
    std::cerr << fmt::format("{}/{} {}\n", done, of, line);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  // The last step is always drawn.
  if (drawn_ && now - shown_ < between_drawings && done < of) return;
  shown_ = now;
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double rate = static_cast<double>(done) / std::max(elapsed, 1e-9);
  const std::size_t cells = bar_width * done / of;
  std::cerr << fmt::format("\r\x1b[K[{}{}] {}/{}  {:.1f}/s  {} left", std::string(cells, '#'),
                           std::string(bar_width - cells, '-'), done, of, rate,
                           left_text(static_cast<double>(of - done) / rate))
            << std::flush;
}

PhaseProgress::PhaseProgress(std::string command)
    : command_{std::move(command)}, watch_{[this](std::size_t done, std::size_t of) {
        told(done, of);
      }} {}

void PhaseProgress::told(std::size_t done, std::size_t of) {
  if (of == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (done == 0) {
    ++phase_;
    begin_ = logged_ = now;
    bar_.reset();
    if (isatty(STDERR_FILENO) == 1) bar_ = std::make_unique<Progress>();
    return;
  }
  if (bar_) {
    bar_->step(done, of, {});
    if (done == of) bar_.reset();
    return;
  }
  if (done < of && now - logged_ < between_lines) return;
  logged_ = now;
  const double elapsed = std::max(std::chrono::duration<double>(now - begin_).count(), 1e-9);
  const double rate = static_cast<double>(done) / elapsed;
  const std::string phase =
      current_phase().empty() ? fmt::format("phase {}", phase_) : current_phase();
  spdlog::debug("{}, {}: {}/{}, {:.1f}/s, {} left", command_, phase, done, of, rate,
                left_text(static_cast<double>(of - done) / rate));
}

}  // namespace stepcast::cli
