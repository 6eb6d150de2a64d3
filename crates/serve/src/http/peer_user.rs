//! The user at the other end of a connection on this machine, where the system tells: on Linux.

use std::net::SocketAddr;

/// Whose program is at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerUser {
    /// That of the user who runs the server, or the system's own: it may do everything anyway, and carries connections
    /// into virtual machines.
    Own,
    /// That of another user.
    Other,
    /// It has closed its end, or the system was asked at a moment between two.
    Gone,
    /// The system does not tell.
    Untold,
}

/// The places where Linux lists the connections of this machine.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The state of a connection that both ends hold open.
const ESTABLISHED: &str = "01";

/// Finds out whose program is at the other end of the connection between `server` and `peer`.
pub(crate) fn find_peer_user(server: SocketAddr, peer: SocketAddr) -> PeerUser {
    let tables = TABLES.map(|path| std::fs::read_to_string(path).unwrap_or_default());
    compare_users(&tables.concat(), server, peer)
}

fn compare_users(tables: &str, server: SocketAddr, peer: SocketAddr) -> PeerUser {
    // Both ends of a connection on this machine have a line, each with the user who opened that end.
    let Some((own, _)) = find_end(tables, server, peer) else {
        return PeerUser::Untold;
    };
    match find_end(tables, peer, server) {
        // Of an end that is closed, the system no longer knows the user.
        Some((user, ESTABLISHED)) if user == own || user == "0" => PeerUser::Own,
        Some((_, ESTABLISHED)) => PeerUser::Other,
        _ => PeerUser::Gone,
    }
}

/// Returns the user and the state of the end `from` of the connection between these addresses.
fn find_end(tables: &str, from: SocketAddr, to: SocketAddr) -> Option<(&str, &str)> {
    let (from, to) = (list_forms(from), list_forms(to));
    let is_form = |forms: &[String], shown: &str| forms.iter().any(|form| form == shown);
    tables.lines().find_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let (local, remote, state) = (columns.next()?, columns.next()?, columns.next()?);
        // Between the state and the user stand the queues, a timer and the times a packet was sent again.
        let user = columns.nth(3)?;
        (is_form(&from, local) && is_form(&to, remote)).then_some((user, state))
    })
}

/// Returns an address as Linux lists it. One of version 4 is also listed as one of version 6.
fn list_forms(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let words = |bytes: &[u8]| -> String {
        // Each four bytes are a number of this machine.
        let words = bytes.chunks_exact(4).filter_map(|word| word.try_into().ok());
        words
            .map(|word| format!("{:08X}", u32::from_ne_bytes(word)))
            .collect()
    };
    match address {
        SocketAddr::V4(v4) => {
            let mapped = words(&v4.ip().to_ipv6_mapped().octets());
            vec![
                format!("{}:{port:04X}", words(&v4.ip().octets())),
                format!("{mapped}:{port:04X}"),
            ]
        }
        SocketAddr::V6(v6) => vec![format!("{}:{port:04X}", words(&v6.ip().octets()))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn line(local: &str, remote: &str, state: &str, user: &str) -> String {
        format!(
            "   1: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {user:>5}        0 1 1\n"
        )
    }

    #[track_caller]
    fn check(lines: &[(&str, &str, &str, &str)], expect: PeerUser) {
        let lines = lines
            .iter()
            .map(|(local, remote, state, user)| line(local, remote, state, user));
        let tables = HEAD.to_owned() + &lines.collect::<String>();
        let (server, peer) = (
            "127.0.0.1:7077".parse().unwrap(),
            "127.0.0.1:40000".parse().unwrap(),
        );
        assert_eq!(compare_users(&tables, server, peer), expect, "{tables}");
    }

    // Linux writes addresses as numbers of the machine.
    #[cfg(target_endian = "little")]
    #[test]
    fn the_user_of_the_other_end_is_compared_with_the_own() {
        let (server, peer) = ("0100007F:1BA5", "0100007F:9C40");
        let own = (server, peer, "01", "1000");
        check(&[own, (peer, server, "01", "1000")], PeerUser::Own);
        check(&[own, (peer, server, "01", "0")], PeerUser::Own);
        check(&[(peer, server, "01", "1001"), own], PeerUser::Other);
        check(&[own, (peer, server, "01", "100")], PeerUser::Other);
        check(&[own, (peer, server, "04", "1000")], PeerUser::Gone);
        check(
            &[(server, peer, "08", "1000"), (peer, server, "05", "0")],
            PeerUser::Gone,
        );
        check(&[own], PeerUser::Gone);
        check(&[(peer, server, "01", "1000")], PeerUser::Untold);
        check(&[], PeerUser::Untold);
        let mapped = |end: &str| format!("0000000000000000FFFF0000{end}");
        check(
            &[own, (&mapped(peer), &mapped(server), "01", "1001")],
            PeerUser::Other,
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_connection_of_this_process_is_its_own() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(server).unwrap();
        let (_accepted, peer) = listener.accept().unwrap();
        assert_eq!(find_peer_user(server, peer), PeerUser::Own);
        drop(client);
        assert_ne!(find_peer_user(server, peer), PeerUser::Other);
    }
}
