# Common commands. `just` lists them.

default:
    @just --list

# Formatting, lints and every test
test:
    bash scripts/test

# Licences, bans and sources of every dependency
deny:
    cargo deny --all-features check licenses bans sources

# A short demo session
demo:
    bash scripts/demo

# Speed and size of the embedded store, and of Chroma if it can be installed
bench rows="50000":
    bash bench/run {{rows}}

# Kill -9 campaign: kills processes at random while they write
kill rounds="1000":
    LOCI_ROUNDS={{rounds}} cargo test --release -p loci-cli --test cli kill:: -- --nocapture

# Runs seeds of the simulator: faults, power cuts, kills and interleavings of the embedded store
sim seeds="10000" first="0":
    cargo run --release -p loci-sim -- --seed {{first}} --seeds {{seeds}}

# Run one fuzz target for some minutes: filter, segment, batches, cut, formats, chroma_folder or chroma_pickle
fuzz target minutes="3":
    cargo +nightly fuzz run {{target}} -- -max_total_time=$(({{minutes}} * 60))
