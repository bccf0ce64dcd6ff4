"""Tests of make-debian-depends.py on an index of a few packages. Run by `cargo xtask test`."""

import gzip
import importlib.util
import io
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("make", HERE / "make-debian-depends.py")
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)

INDEX = """\
Package: libc6
Depends: libgcc-s1, libcrypt1 (>= 1:4.4.10-10)
Description: the C library: not a field that matters
 Depends: not-a-field

Package: libgcc-s1
Depends: gcc-12-base (= 12.2.0-14), libc6 (>= 2.35)

Package: perl-base
Provides: perlapi-5.36.0, libfile-path-perl (= 2.18)
Pre-Depends: libc6 (>= 2.35), libcrypt1:any [amd64] <!nocheck>
Depends: perlapi-5.36.0

Package: postfix
Provides: mail-transport-agent

Package: exim4
Provides: mail-transport-agent
Depends: debconf (>= 0.5) | debconf-2.0,
 perlapi-5.36.0,
 libc6, libc6 (>= 2.0)

Package: mutt
Depends: exim5 | postfix | mail-transport-agent, mail-transport-agent, gone | gone-too

Package: lonely
"""


def arcs_of(index):
    return make.arcs(*make.read(index.splitlines()))


class Arcs(unittest.TestCase):
    def test_versions_architectures_and_profiles_are_left_out(self):
        self.assertIn(("libc6", "libcrypt1"), arcs_of(INDEX))
        self.assertIn(("perl-base", "libcrypt1"), arcs_of(INDEX))

    def test_a_continued_field_counts_and_a_description_does_not(self):
        self.assertIn(("exim4", "libc6"), arcs_of(INDEX))
        self.assertNotIn("not-a-field", {end for arc in arcs_of(INDEX) for end in arc})

    def test_the_first_alternative_that_is_a_package_is_taken(self):
        targets = [target for source, target in arcs_of(INDEX) if source == "mutt"]
        self.assertEqual(targets, ["gone", "mail-transport-agent", "postfix"])

    def test_a_virtual_package_stands_for_its_only_provider(self):
        self.assertIn(("exim4", "perl-base"), arcs_of(INDEX))
        self.assertNotIn(("perl-base", "perl-base"), arcs_of(INDEX))

    def test_each_arc_occurs_once_and_in_order(self):
        found = arcs_of(INDEX)
        self.assertEqual(found, sorted(set(found)))


class BadInput(unittest.TestCase):
    def test_what_is_no_index_is_refused_with_its_line(self):
        with self.assertRaisesRegex(make.BadIndex, "line 2"):
            arcs_of("Package: a\nnonsense\n")
        with self.assertRaisesRegex(make.BadIndex, "no field Package"):
            arcs_of("Depends: a\n")
        with self.assertRaisesRegex(make.BadIndex, "no package name"):
            arcs_of("Package: a\nDepends: (>= 2)\n")


class Files(unittest.TestCase):
    def test_a_compressed_index_makes_the_same_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            plain, packed = pathlib.Path(folder, "Packages"), pathlib.Path(folder, "Packages.gz")
            plain.write_text(INDEX)
            packed.write_bytes(gzip.compress(INDEX.encode()))
            texts = []
            for path in (plain, packed):
                out = io.StringIO()
                make.main([str(path), "--of", "a test"], out)
                texts.append(out.getvalue())
        self.assertEqual(texts[0], texts[1])
        lines = texts[0].splitlines()
        self.assertTrue(all(line.startswith("#") for line in lines[:5]))
        self.assertIn("a test", texts[0])
        self.assertEqual(lines[5], "exim4\tdebconf")


if __name__ == "__main__":
    unittest.main()
