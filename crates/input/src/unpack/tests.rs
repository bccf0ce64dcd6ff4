//! Each layer over bytes that are whole, cut, changed, and too many.

use std::io::{Cursor, Write};

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::*;

const TEXT: &[u8] = b"1 2\n2 3\n";

/// `1 2` and `2 3` as `xz -0` writes them.
const XZ: &[u8] = &[
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21, 0x01,
    0x0c, 0x00, 0x00, 0x00, 0x8f, 0x98, 0x41, 0x9c, 0x01, 0x00, 0x07, 0x31, 0x20, 0x32, 0x0a, 0x32,
    0x20, 0x33, 0x0a, 0x00, 0xc4, 0xa4, 0x91, 0x6d, 0xde, 0x89, 0x43, 0x3e, 0x00, 0x01, 0x20, 0x08,
    0xbb, 0x19, 0xd9, 0xbb, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
];

fn unpacked(layers: &[Layer], bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, String> {
    let stored = Box::new(Cursor::new(bytes.to_vec()));
    let mut unpacked = Unpacked::new("f", layers, stored, limits).map_err(|e| e.to_string())?;
    let mut all = Vec::new();
    // Small and odd, so that layers are asked in the middle of what they hold.
    let mut buffer = [0; 7];
    loop {
        match unpacked.fill(&mut buffer).map_err(|error| error.to_string())? {
            0 => return Ok(all),
            count => all.extend_from_slice(&buffer[..count]),
        }
    }
}

fn read(layers: &[Layer], bytes: &[u8]) -> Result<Vec<u8>, String> {
    unpacked(layers, bytes, &Limits::default())
}

/// Some bytes in every compression.
fn packed(bytes: &[u8]) -> Vec<(Layer, Vec<u8>)> {
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(bytes).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(bytes).unwrap();
    let mut snappy = snap::write::FrameEncoder::new(Vec::new());
    snappy.write_all(bytes).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    vec![
        (Layer::Bzip2, bzip2.finish().unwrap()),
        (Layer::Lz4, lz4.finish().unwrap()),
        (Layer::Snappy, snappy.into_inner().unwrap()),
        (Layer::Gzip, gzip.finish().unwrap()),
        (Layer::Zstd, zstd::encode_all(bytes, 1).unwrap()),
    ]
}

/// A tar archive of files.
pub(crate) fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = ::tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        if name.ends_with('/') {
            header.set_entry_type(::tar::EntryType::Directory);
        }
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn every_compression_gives_what_was_packed_and_is_refused_where_it_is_cut() {
    let long: Vec<u8> =
        (0..20_000_u32).flat_map(|n| format!("{n} {}\n", n * 7).into_bytes()).collect();
    let brotli = [&[0x8f, 0x03, 0x80][..], TEXT, &[3]].concat();
    let mut all: Vec<(Layer, Vec<u8>, &[u8])> =
        packed(&long).into_iter().map(|(layer, bytes)| (layer, bytes, &long[..])).collect();
    all.push((Layer::Xz, XZ.to_vec(), TEXT));
    all.push((Layer::Brotli, brotli, TEXT));
    all.push((Layer::Tar, tar_of(&[("e.csv", &long)]), &long));
    for (layer, bytes, expected) in all {
        assert!(read(&[layer], &bytes).unwrap() == expected, "{layer:?}");
        // Several behind each other are one, as with cat.
        if !matches!(layer, Layer::Brotli | Layer::Tar) {
            let twice = read(&[layer], &bytes.repeat(2)).unwrap();
            assert!(twice == expected.repeat(2), "{layer:?}");
        }
        let ends = bytes.len() - if layer == Layer::Tar { 1024 } else { 1 };
        for cut in [1, bytes.len() / 3, bytes.len() / 2, ends - 1, ends] {
            let cut = read(&[layer], &bytes[..cut]);
            if layer != Layer::Tar || cut.is_err() {
                let message = cut.expect_err(layer.name());
                assert!(message.contains(layer.name()) && !message.ends_with('\n'), "{message}");
            }
        }
    }
}

#[test]
fn layers_lie_around_one_another() {
    let wide: Vec<u8> = "\u{feff}ä,b\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let archive = tar_of(&[("out/", b""), ("out/._e.csv", b"x"), ("out/e.csv", &wide)]);
    for (layer, bytes) in packed(&archive) {
        let layers = [layer, Layer::Tar, Layer::Encoded(UTF_16LE)];
        assert_eq!(read(&layers, &bytes).unwrap(), "ä,b\n".as_bytes());
    }
}

#[test]
fn archives_of_none_and_of_several_are_refused_by_name() {
    let several = tar_of(&[("nodes.csv", b"1\n"), ("edges.csv", b"1,2\n")]);
    let message = read(&[Layer::Tar], &several).unwrap_err();
    assert!(
        message.contains("found \"nodes.csv\" and \"edges.csv\"; unpack it (tar -xf)"),
        "{message}"
    );
    let message = read(&[Layer::Tar], &tar_of(&[("_SUCCESS", b"")])).unwrap_err();
    assert!(message.contains("of one file, found none"), "{message}");
    let mut damaged = tar_of(&[("e.csv", b"1 2\n"), (".x", b"")]);
    damaged[1024 + 3] ^= 1;
    let message = read(&[Layer::Tar], &damaged).unwrap_err();
    assert!(message.contains("not valid tar data: a header whose checksum is wrong"), "{message}");
    assert_eq!(tar::name(&tar_of(&[("a/", b""), ("a/e.mtx", b"x")])).as_deref(), Some("a/e.mtx"));
    let long = format!("{}/e.csv", "d".repeat(150));
    assert_eq!(tar::name(&tar_of(&[(&long, b"x")])), Some(long));
}

#[test]
fn every_layer_keeps_to_the_ratio() {
    let limits = Limits { ratio_max: 10, ratio_free_bytes: 1 << 20, ..Limits::default() };
    let zeros = vec![b'7'; 8 << 20];
    for (layer, bytes) in packed(&zeros).into_iter().chain(packed(&tar_of(&[("e.csv", &zeros)]))) {
        let message = unpacked(&[layer, Layer::Returns], &bytes, &limits).unwrap_err();
        assert!(message.contains("more than 10 times its size"), "{layer:?}: {message}");
    }
    // Bytes that are passed over count too.
    let skipped = tar_of(&[(".x", &zeros), ("e.csv", b"1 2\n")]);
    for (layer, bytes) in packed(&skipped) {
        let message = unpacked(&[layer, Layer::Tar], &bytes, &limits).unwrap_err();
        assert!(message.contains("more than 10 times its size"), "{layer:?}: {message}");
    }
    let window = Limits { zstd_window_log_max: 10, ..Limits::default() };
    let mut large = XZ.to_vec();
    assert!(unpacked(&[Layer::Xz], &large, &window).is_ok());
    // A dictionary of 4 GiB: the byte that says so, and the checksum of its header.
    large[16] = 40;
    let sum = crc32(&large[12..20]);
    large[20..24].copy_from_slice(&sum.to_le_bytes());
    let message = unpacked(&[Layer::Xz], &large, &window).unwrap_err();
    assert!(message.contains("memory"), "{message}");
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

#[test]
fn encodings_become_utf_8_without_a_mark() {
    let text = "\u{feff}näme,Ω😀\n";
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let expected = "näme,Ω😀\n".as_bytes();
    for (encoding, bytes) in [
        (UTF_16LE, wide(u16::to_le_bytes)),
        (UTF_16BE, wide(u16::to_be_bytes)),
        (UTF_8, text.as_bytes().to_vec()),
    ] {
        assert_eq!(encoding::of(&bytes), Some(encoding));
        assert_eq!(read(&[Layer::Encoded(encoding)], &bytes).unwrap(), expected);
    }
    let latin = read(&[Layer::Encoded(WINDOWS_1252)], b"n\xe4me").unwrap();
    assert_eq!(latin, "näme".as_bytes());
    for (head, expected) in [
        (&b"<?xml version='1.0' encoding='ISO-8859-1'?><g/>"[..], None),
        (b"\0<\0?\0x", Some(UTF_16BE)),
        (b"<\0?\0x\0m\0l\0", Some(UTF_16LE)),
        (b"1,2\n", None),
    ] {
        assert_eq!(encoding::of(head), expected, "{head:?}");
    }
    let odd = read(&[Layer::Encoded(UTF_16LE)], b"\xff\xfea\0b").unwrap_err();
    assert!(odd.contains("expected text in UTF-16LE"), "{odd}");
}

#[test]
fn returns_become_newlines_wherever_they_stand() {
    for (text, expected) in [
        (&b"1,2\r2,3\r"[..], &b"1,2\n2,3\n"[..]),
        (b"1,2,3\r\r2,3\r\n4,5", b"1,2,3\n\n2,3\r\n4,5"),
        (b"123456\r\n123456\r7", b"123456\r\n123456\n7"),
    ] {
        assert_eq!(read(&[Layer::Returns], text).unwrap(), expected);
    }
    assert!(encoding::has_returns(b"1,2\r2,3"));
    assert!(!encoding::has_returns(b"1,2\r") && !encoding::has_returns(b"1,2\r2,3\n"));
}
