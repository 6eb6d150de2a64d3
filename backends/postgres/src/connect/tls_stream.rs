//! The TLS layer of a connection: tokio-postgres's traits over rustls, with channel binding.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::certificate::hash_for_binding;
use super::tls::TlsSetupError;

/// Starts TLS on the sockets of one server.
#[derive(Clone)]
pub(super) struct TlsDialer {
    config: Result<Arc<ClientConfig>, TlsSetupError>,
    has_begun: Arc<AtomicBool>,
}

impl TlsDialer {
    /// Prepares TLS. A failed setup is an error only if the server wants TLS too.
    pub(super) fn new(config: Result<ClientConfig, TlsSetupError>) -> Self {
        Self {
            config: config.map(Arc::new),
            has_begun: Arc::default(),
        }
    }

    /// Whether a server agreed to TLS, and so the handshake began.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }
}

impl MakeTlsConnect<Socket> for TlsDialer {
    type Stream = EncryptedStream;
    type TlsConnect = TlsHandshake;
    type Error = TlsSetupError;

    fn make_tls_connect(&mut self, host: &str) -> Result<TlsHandshake, TlsSetupError> {
        Ok(TlsHandshake {
            dialer: self.clone(),
            host: host.to_owned(),
        })
    }
}

/// One handshake that is about to begin.
pub(super) struct TlsHandshake {
    dialer: TlsDialer,
    host: String,
}

impl TlsConnect<Socket> for TlsHandshake {
    type Stream = EncryptedStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        self.dialer.has_begun.store(true, Ordering::Relaxed);
        Box::pin(async move {
            let config = self.dialer.config.map_err(io::Error::other)?;
            // A host that cannot stand in a certificate is an error only if the certificate must name it, which the
            // verifier decides. Any address keeps the name out of the handshake.
            let unnamed = ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into());
            let name = ServerName::try_from(self.host).unwrap_or(unnamed);
            let stream = TlsConnector::from(config).connect(name, socket).await?;
            Ok(EncryptedStream(stream))
        })
    }
}

/// A socket under TLS.
pub(super) struct EncryptedStream(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for EncryptedStream {
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.0.get_ref();
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        match certificate.and_then(|certificate| hash_for_binding(certificate)) {
            Some(hash) => ChannelBinding::tls_server_end_point(hash),
            None => ChannelBinding::none(),
        }
    }
}

impl AsyncRead for EncryptedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for EncryptedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
