internal import Foundation
internal import Synchronization

/// A validated text with its index, which the first decoding takes.
final class JSONIndexed: Sendable {
    let text: Data
    /// Whether the text is a copy without a byte order mark and half a surrogate pair.
    let isRepaired: Bool
    private let count: Int
    /// The address of the words, or 0 if they were taken.
    private let words: Atomic<UInt>

    private init(_ text: Data, _ index: consuming JSONIndex, isRepaired: Bool = false) {
        (self.text, self.isRepaired, count) = (text, isRepaired, index.count)
        words = Atomic(UInt(bitPattern: index.release()))
    }

    deinit { drop() }

    var isTaken: Bool { words.load(ordering: .acquiring) == 0 }

    /// Validates a text.
    ///
    /// - Throws: The error and its offset.
    static func make(_ text: Data, maximumDepth: Int = JSONDepth.standard) throws(JSONError) -> JSONIndexed {
        let (indexed, copy) = try text.repairingJSON { (bytes) throws(JSONError) in
            JSONIndexed(text, try JSONIndex(bytes, maximumDepth: maximumDepth))
        }
        guard let copy, let index = indexed.take() else { return indexed }
        return JSONIndexed(copy, index, isRepaired: true)
    }

    /// Returns the index, unless it was taken before.
    func take() -> JSONIndex? {
        let address = words.exchange(0, ordering: .acquiringAndReleasing)
        return UnsafeMutablePointer<UInt64>(bitPattern: address).map { JSONIndex(words: $0, count: count) }
    }

    /// Returns what ``take()`` returned, unchanged.
    func giveBack(_ index: consuming JSONIndex) {
        words.store(UInt(bitPattern: index.release()), ordering: .releasing)
    }

    /// Frees the index.
    func drop() { _ = take() }
}
