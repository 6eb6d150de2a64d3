//! Folders that ChromaDB 0.4 to 1.5 wrote, read without any of its code: what they hold, what is wrong with them,
//! and how they are mended.
//!
//! The rows of `chroma.sqlite3` are the truth about which records exist. A record's vector is the newest one written
//! for it: in the write queue, or else in the graph files. Nothing here writes to a folder but a fix that was asked for.
