#pragma once
#include <string>

/// Libraries that only some runs need, and that take long to load, are linked into modules:
/// PREFIX/lib/stepcast/NAME.so beside a program PREFIX/bin/stepcast, wherever PREFIX was moved to.
/// A module is loaded when it is first needed and then stays
/// (docs/decisions/0015-modules-when-needed.md).
namespace stepcast {

/// The address of the function or object `entry` (C linkage) of module NAME, which must
/// have been built with this program: `fingerprint` is its fingerprint. Throws EngineError, which
/// names the file, when it is missing, was built with another program or cannot be loaded.
void* module_entry(const std::string& name, const std::string& entry,
                   const std::string& fingerprint);

}  // namespace stepcast
