//! Names binary files by the bytes they begin with.

/// First bytes that no text has, or that mark a binary even if the rest could be text.
const CERTAIN: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF program"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"PK\x07\x08", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x04\x22\x4d\x18", "an LZ4 archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\0asm", "a WebAssembly module"),
    (b"\xfe\xed\xfa\xce", "a Mach-O program"),
    (b"\xfe\xed\xfa\xcf", "a Mach-O program"),
    (b"\xce\xfa\xed\xfe", "a Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"\xff\xfe\0\0", "text in UTF-32"),
    (b"\0\0\xfe\xff", "text in UTF-32"),
    (b"wOFF\0", "a font"),
    (b"wOF2\0", "a font"),
    (b"\0\x01\0\0\0", "a font"),
];

/// First bytes that a text may have, too: they only name a file that is known to be binary.
const LIKELY: &[(&[u8], &str)] = &[
    (b"RIFF", "a RIFF file (sound, film or image)"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"fLaC", "a FLAC file"),
    (b"MThd", "a MIDI file"),
    (b"MZ", "a Windows program"),
    (b"BZh", "a bzip2 archive"),
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"PAR1", "a Parquet file"),
    (b"PACK", "a Git pack"),
    (b"OTTO", "a font"),
    (b"!<arch>\n", "an object archive"),
    (b"bplist", "a binary property list"),
    (b"Obj\x01", "an Avro file"),
];

/// Returns the kind of file that these bytes certainly are, if it is not text.
pub(super) fn certain_binary_kind(bytes: &[u8]) -> Option<&'static str> {
    find_magic(CERTAIN, bytes)
}

/// Returns the likely kind of these bytes, which are known not to be text.
pub(super) fn likely_binary_kind(bytes: &[u8]) -> Option<&'static str> {
    // Tar and MP4 have their marks at a fixed offset instead of the start.
    let inner = |at: usize, magic: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(magic));
    if inner(257, b"ustar") {
        return Some("a tar archive");
    }
    if inner(4, b"ftyp") {
        return Some("a film or an image in an MP4 container");
    }
    find_magic(LIKELY, bytes)
}

fn find_magic(table: &[(&[u8], &'static str)], bytes: &[u8]) -> Option<&'static str> {
    table
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map(|(_, name)| *name)
}
