#!/usr/bin/env python3
"""Make a graph of Debian packages: one arc a line, a package TAB a package that it depends on.

    python3 make-debian-depends.py Packages.xz --of "Debian 12 (bookworm) main amd64" \
        | zstd -19 -o debian-depends.tsv.zst

The index (plain, .gz, .xz or .bz2) is the file `Packages` of a Debian archive. What becomes an arc:

* Fields Pre-Depends and Depends. Versions, architectures and build profiles are left out.
* Of the alternatives `a | b` the one that apt would install: the first that is a package of the
  index, else the first that some package provides, else the first.
* A virtual package with one provider stands for this provider. One with several stays a vertex
  under its own name, without arcs out: the index does not say which provider is meant.
* Each arc once; a package that depends on itself (through something it provides) gets no arc.

Vertices are the ends of arcs: a package that needs nothing and that nothing needs does not occur.
The lines are sorted, so the same index always makes the same bytes.
"""

import argparse
import bz2
import gzip
import hashlib
import lzma
import re
import sys
from collections import defaultdict

OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
FIELDS = ("Package", "Provides", "Pre-Depends", "Depends")
# Debian Policy 5.6.1: lower-case letters, digits, plus, minus and full stop; here for any archive.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.\-]*")


class BadIndex(Exception):
    """The index does not read as one; the message names the line."""


def stanzas(lines):
    """The stanzas of an index as dictionaries of the fields that matter here."""
    stanza, field = {}, None
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if not line:
            if stanza:
                yield number, stanza
            stanza, field = {}, None
        elif line[0] in " \t":
            if field in FIELDS:
                stanza[field] += " " + line.strip()
        else:
            field, colon, value = line.partition(":")
            if not colon:
                raise BadIndex(f"line {number}: expected `Field: value`, found {line[:40]!r}")
            if field in FIELDS:
                stanza[field] = value.strip()
    if stanza:
        yield number, stanza


def name_of(relation, line):
    """The bare name in a relation such as `libc6:any (>= 2.36) [amd64] <!nocheck>`."""
    match = NAME.match(relation.strip())
    if not match:
        raise BadIndex(f"stanza ending in line {line}: no package name in {relation[:40]!r}")
    return match.group()


def names_in(value, separator, line):
    """The names in a list of relations."""
    return [name_of(part, line) for part in value.split(separator) if part.strip()]


def read(lines):
    """The groups of alternatives that each package needs, and who provides each virtual package."""
    groups, providers = {}, defaultdict(set)
    for line, stanza in stanzas(lines):
        if not stanza.get("Package"):
            raise BadIndex(f"stanza ending in line {line}: no field Package")
        package = stanza["Package"]
        for virtual in names_in(stanza.get("Provides", ""), ",", line):
            providers[virtual].add(package)
        wanted = groups.setdefault(package, [])
        for field in ("Pre-Depends", "Depends"):
            for group in stanza.get(field, "").split(","):
                if group.strip():
                    wanted.append(names_in(group, "|", line))
    return groups, providers


def choose(alternatives, groups, providers):
    """The vertex that a group of alternatives leads to."""
    for name in alternatives:
        if name in groups:
            return name
    chosen = next((name for name in alternatives if name in providers), alternatives[0])
    candidates = providers.get(chosen, ())
    return next(iter(candidates)) if len(candidates) == 1 else chosen


def arcs(groups, providers):
    """All arcs, sorted and distinct."""
    found = {
        (package, choose(alternatives, groups, providers))
        for package, wanted in groups.items()
        for alternatives in wanted
    }
    return sorted(arc for arc in found if arc[0] != arc[1])


def main(arguments=None, out=sys.stdout):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index", help="a Packages index: plain, .gz, .xz or .bz2")
    parser.add_argument("--of", default="a Debian archive", help="what it is the index of")
    options = parser.parse_args(arguments)

    suffix = options.index[options.index.rfind(".") :] if "." in options.index else ""
    with OPENERS.get(suffix, open)(options.index, "rb") as file:
        content = file.read()
    found = arcs(*read(content.decode("utf-8").splitlines()))
    vertices = {end for arc in found for end in arc}
    digest = hashlib.sha256(content).hexdigest()
    out.write(
        "# Which package depends on which: a package, TAB, a package that it depends on.\n"
        f"# From the Packages index of {options.of}; its SHA-256:\n"
        f"# {digest}\n"
        "# Pre-Depends and Depends; of alternatives the first that is there; each arc once.\n"
        f"# {len(vertices)} vertices, {len(found)} arcs. Made by make-debian-depends.py.\n"
    )
    out.writelines(f"{source}\t{target}\n" for source, target in found)


if __name__ == "__main__":
    try:
        main()
    except (BadIndex, OSError, EOFError, UnicodeDecodeError, lzma.LZMAError) as error:
        sys.exit(f"make-debian-depends.py: {sys.argv[1] if sys.argv[1:] else ''}: {error}")
