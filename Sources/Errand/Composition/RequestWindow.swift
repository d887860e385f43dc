/// Begins the requests of a sequence, limiting how many run at once.
///
/// It stays on the caller, and takes a request from the sequence only to begin it.
final class RequestWindow<Requests: IteratorProtocol> {
    typealias Begin = nonisolated(nonsending) (Requests.Element, Int, RequestWindow) async -> Void

    private var rest: Requests
    private let begin: Begin
    /// The number of requests that were begun.
    private var count = 0
    /// The number of these that have not ended.
    private(set) var runningCount = 0
    private var isExhausted = false
    private var isFilling = false

    /// Creates a window.
    ///
    /// - Parameters:
    ///   - requests: The requests to begin.
    ///   - begin: Begins a request with its index; calls ``didEndOne()`` when it has ended.
    init(_ requests: Requests, begin: @escaping Begin) {
        rest = requests
        self.begin = begin
    }

    /// Begins requests until `maximum` are running, or none is left.
    ///
    /// Does nothing if it is called while it is running: if a request ends at once, the same loop begins the next.
    func fill(upTo maximum: @autoclosure () -> Int) async {
        guard !isFilling else { return }
        isFilling = true
        defer { isFilling = false }
        while !isExhausted, runningCount < maximum() {
            guard let request = rest.next() else {
                isExhausted = true
                return
            }
            count += 1
            runningCount += 1
            await begin(request, count - 1, self)
        }
    }

    func didEndOne() { runningCount -= 1 }
}
