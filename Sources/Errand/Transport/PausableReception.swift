/// The reception of a body, which pauses while its reader is slow.
protocol PausableReception: Sendable {
    /// Stops reading from the connection, so that the sender has to wait.
    ///
    /// Called in a callback of the exchange. Has no effect if the reception is paused already.
    func pause()

    /// Continues to read soon, unless `isWanted` returns `false` by then. Returns at once.
    func resume(if isWanted: @escaping @Sendable () -> Bool)
}
