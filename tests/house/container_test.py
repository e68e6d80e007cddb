#!/usr/bin/env python3
"""Runs the steps of the Containerfile in bare roots of Debian, as an engine would: container_test.py [DIST].

Takes minutes, root and the network of the packages; exits 77 where one is missing. What scripts/package made, DIST, saves
the steps that need a compiler.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DIST = sys.argv[1] if len(sys.argv) > 1 else None
KNOWN = {"FROM", "COPY", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}


def instructions():
    for line in (SOURCE / "Containerfile").read_text().replace("\\\n", "").splitlines():
        if line and not line.startswith("#"):
            word, rest = line.split(maxsplit=1)
            assert word in KNOWN, word
            yield word, rest


def inside(root, script, user="root", folder="/"):
    """With the network of this machine, which builds have."""
    words = ["chroot", f"--userspec={user}:{user}", str(root), "/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
             f"HOME={'/root' if user == 'root' else '/home/' + user}", "DEBIAN_FRONTEND=noninteractive", "/bin/sh", "-ec", f"cd {folder}; {script}"]
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", *words], text=True, capture_output=True)


def copied(rest, stages, root):
    source, target = rest.split()[-2:]
    target = root / target.lstrip("/")
    stage = re.match(r"--from=(\w+)", rest)
    if stage:
        shutil.copytree(stages[stage[1]] / source.lstrip("/"), target, symlinks=True)
    else:
        assert source == ".", source
        subprocess.run(["git", "clone", "--quiet", SOURCE, target], check=True)


def main():
    with tempfile.TemporaryDirectory() as work:
        stages, root, user, folder, started = {}, None, "root", "/", {}
        for word, rest in instructions():
            print(f"== {word} {rest}", flush=True)
            if word == "FROM":
                assert re.match(r"docker\.io/library/debian:12(-slim)?\b", rest), rest
                name = rest.split(" AS ")[1] if " AS " in rest else "last"
                root, user, folder = pathlib.Path(work) / name, "root", "/"
                made = subprocess.run([SOURCE / "scripts/bare_root", "debian", root, "bookworm"])
                if made.returncode != 0:
                    sys.exit(made.returncode)
                for file in ("/etc/resolv.conf", "/etc/hosts"):   # as engines do
                    shutil.copy(file, root / file.lstrip("/"))
                stages[name] = root
            elif word == "COPY":
                copied(rest, stages, root)
            elif word == "USER":
                user = rest
            elif word == "WORKDIR":
                folder = rest
            elif word == "RUN" and DIST and "/src/scripts/package" in rest:
                shutil.copytree(DIST, root / "dist")
            elif word == "RUN" and DIST and "apt-get" in rest:
                pass   # what the compiler needs
            elif word == "RUN":
                ran = inside(root, rest, user, folder)
                if ran.returncode != 0:
                    sys.exit(f"{ran.stdout[-4000:]}{ran.stderr[-4000:]}exit code {ran.returncode}")
            else:
                started[word] = " ".join(re.findall(r'"([^"]*)"', rest))
        for more, expected in ((started["CMD"], "SUBCOMMAND"), ("run telechat3-36b-2048.yaml", "step time"), ("worker </dev/null", '"worker":1')):
            ran = inside(root, f"{started['ENTRYPOINT']} {more}", user, folder)
            assert ran.returncode == 0 and expected in ran.stdout, ran.stdout + ran.stderr
        assert "stepcast" in inside(root, "id -un", user, folder).stdout
        print("container: ok")


main()
