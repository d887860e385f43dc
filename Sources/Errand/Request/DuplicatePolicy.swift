/// What happens to a send if an equal one is in flight.
///
/// Sends are equal if they have the same type, service, credentials, cache policy, acceptance, filter and limits of the
/// exchange, and the same method, URL, header fields and body or the same ``Request/duplicateKey``. The header fields are
/// compared before adapters run, without `Idempotency-Key`. Without a ``Request/duplicateKey``, a request whose body is read
/// while it is sent equals no other.
public enum DuplicatePolicy: Sendable, Hashable {
    /// Both sends run; a send with this policy does not affect others either.
    case allow
    /// The new send joins the one in flight and receives the same response or the same error.
    ///
    /// The request is sent once, with the first send's retries and priority. Each send formats its own model and keeps
    /// its own deadline. Cancelling one does not affect the others; when the last one is cancelled, so is the request.
    case share
    /// The new send runs, and the old one ends with `CancellationError`.
    case cancelPrevious
    /// The new send fails with ``NetworkError/Reason/duplicate``.
    case rejectNew
}
