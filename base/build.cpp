#include "stepcast/base/build.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <span>
#include <string_view>

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr std::size_t digits_shown = 16;

/// What dl_iterate_phdr looks for, and what it found.
struct Search {
  ElfW(Addr) code;  ///< an address inside the module that is asked for
  std::string build_id;
};

/// Names and descriptions of notes are padded to four bytes.
std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

/// The build id among the notes of one segment; empty without one.
std::string build_id_of(const char* notes, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = padded(note.n_namesz);
    const std::size_t whole = sizeof note + name + padded(note.n_descsz);
    // Damaged notes are not followed beyond their segment.
    if (whole > size) break;
    const char* owner = notes + sizeof note;
    // A note counts its owner's name with the zero that ends it.
    if (note.n_type == NT_GNU_BUILD_ID &&
        std::string_view(owner, note.n_namesz) == std::string_view("GNU", sizeof "GNU"))
      return {owner + name, note.n_descsz};
    notes += whole;
    size -= whole;
  }
  return {};
}

/// A module is told by an address of its code, whatever its file is called.
bool holds(const dl_phdr_info& module, ElfW(Addr) code) {
  for (const auto& segment : std::span(module.dlpi_phdr, module.dlpi_phnum)) {
    const ElfW(Addr) begin = module.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && code >= begin && code < begin + segment.p_memsz) return true;
  }
  return false;
}

/// Called for each loaded module; anything but 0 ends the search.
int visit(dl_phdr_info* module, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (!holds(*module, search.code)) return 0;
  for (std::size_t i = 0; i < module->dlpi_phnum && search.build_id.empty(); ++i) {
    const auto& segment = module->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      search.build_id = build_id_of(
          // The loader gives addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
          reinterpret_cast<const char*>(module->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

// What is linked into the programs that ship says it (cmake/commit.cmake).
[[gnu::weak]] const char* build_commit() { return ""; }

std::string fingerprint_of(const void* code) {
  Search search{reinterpret_cast<ElfW(Addr)>(code), {}};
  dl_iterate_phdr(visit, &search);
  expects(!search.build_id.empty(), "the linker wrote a build id");
  return sha256(hexadecimal(search.build_id)).substr(0, digits_shown);
}

// stepcast-mpi is the same build as the stepcast beside it (cmake/fingerprint.cmake).
[[gnu::weak]] const std::string& build_fingerprint() {
  static const std::string text = fingerprint_of(reinterpret_cast<const void*>(&build_fingerprint));
  return text;
}

}  // namespace stepcast
