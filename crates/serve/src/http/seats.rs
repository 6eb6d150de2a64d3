//! Seats: the connections that have shown the secret of the server, and those that have not yet.
//!
//! The two are counted apart, so that connections without the secret, which is a token or a cookie, never keep one with
//! it out.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::connections::ConnectionLimits;

/// The places for connections.
pub(crate) struct ConnectionSeats {
    /// One permit for each connection that may have shown the secret.
    seats: Arc<Semaphore>,
    most: usize,
    max_strangers: usize,
    strangers: Mutex<StrangerQueue>,
}

/// The connections that have not shown the secret, oldest first.
#[derive(Default)]
struct StrangerQueue {
    last_number: u64,
    waiting: VecDeque<(u64, CancellationToken)>,
}

impl ConnectionSeats {
    /// Makes the places of a server.
    pub(crate) fn new(limits: &ConnectionLimits) -> Arc<Self> {
        Arc::new(Self {
            seats: Arc::new(Semaphore::new(limits.connections)),
            most: limits.connections,
            max_strangers: limits.strangers.max(1),
            strangers: Mutex::default(),
        })
    }

    /// Lets a new connection in, as one that has not shown the secret. If there are too many of those, the oldest of
    /// them is dropped: a client with the secret shows it at once.
    pub(crate) fn let_in(self: &Arc<Self>, peer: SocketAddr) -> ConnectionSeat {
        let mut strangers = self.lock_strangers();
        if strangers.waiting.len() >= self.max_strangers
            && let Some((_, oldest)) = strangers.waiting.pop_front()
        {
            oldest.cancel();
        }
        strangers.last_number += 1;
        let (number, dropped) = (strangers.last_number, CancellationToken::new());
        strangers.waiting.push_back((number, dropped.clone()));
        drop(strangers);
        ConnectionSeat {
            seats: Arc::clone(self),
            peer,
            number,
            dropped,
            permit: Mutex::default(),
        }
    }

    fn lock_strangers(&self) -> MutexGuard<'_, StrangerQueue> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_stranger(&self, number: u64) {
        let mut strangers = self.lock_strangers();
        strangers.waiting.retain(|(waiting, _)| *waiting != number);
    }
}

/// The place of one connection; free again once this is dropped.
pub(crate) struct ConnectionSeat {
    seats: Arc<ConnectionSeats>,
    peer: SocketAddr,
    number: u64,
    dropped: CancellationToken,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl ConnectionSeat {
    /// Returns how many connections there are in all.
    pub(crate) fn count_connections(&self) -> usize {
        let seats = &self.seats;
        let taken = seats.most - seats.seats.available_permits().min(seats.most);
        taken + seats.lock_strangers().waiting.len()
    }

    /// Returns the address of the client.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Takes a seat, because the connection has shown the secret; it keeps it. Returns false if all are taken.
    pub(crate) fn sit_down(&self) -> bool {
        let mut permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        if permit.is_none() {
            *permit = self.seats.seats.clone().try_acquire_owned().ok();
            self.seats.remove_stranger(self.number);
        }
        permit.is_some()
    }

    /// Waits until the connection is to be dropped, which one with a seat never is.
    pub(crate) async fn wait_until_dropped(&self) {
        self.dropped.cancelled().await;
    }
}

impl Drop for ConnectionSeat {
    fn drop(&mut self) {
        self.seats.remove_stranger(self.number);
    }
}
