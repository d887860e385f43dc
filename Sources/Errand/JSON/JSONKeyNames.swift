internal import Synchronization

/// The name of a key, as bytes that outlive its use.
struct JSONKeyName {
    typealias Bytes = UnsafeRawBufferPointer

    let bytes: UnsafeRawPointer
    let count: Int
    /// One bit, by which most names differ.
    let digest: UInt64

    @inline(__always)
    init(_ bytes: UnsafeRawPointer, _ count: Int) {
        (self.bytes, self.count) = (bytes, count)
        digest = Self.digest(Bytes(start: bytes, count: count))
    }

    @inline(__always)
    static func digest(_ bytes: Bytes) -> UInt64 {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return 1 }
        let first = start.load(as: UInt8.self)
        let middle = start.load(fromByteOffset: bytes.count &>> 1, as: UInt8.self)
        let last = start.load(fromByteOffset: bytes.count &- 1, as: UInt8.self)
        let hash =
            UInt64(truncatingIfNeeded: bytes.count) &* 5 &+ UInt64(first) &* 31 &+ UInt64(middle) &* 7 &+ UInt64(last)
        return 1 &<< (hash & 63)
    }

    @inline(__always)
    func equals(_ other: Bytes) -> Bool {
        guard count == other.count, let start = other.baseAddress else { return false }
        var index = 0
        while index &+ 8 <= count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if word != start.loadUnaligned(fromByteOffset: index, as: UInt64.self) { return false }
            index &+= 8
        }
        while index < count {
            if bytes.load(fromByteOffset: index, as: UInt8.self) != start.load(fromByteOffset: index, as: UInt8.self) {
                return false
            }
            index &+= 1
        }
        return true
    }
}

extension JSONKeyName: Hashable {
    static func == (left: JSONKeyName, right: JSONKeyName) -> Bool {
        left.equals(Bytes(start: right.bytes, count: right.count))
    }
    func hash(into hasher: inout Hasher) { hasher.combine(bytes: Bytes(start: bytes, count: count)) }
}

/// The names of the keys of a type whose values are one byte, as those of synthesized `CodingKeys` are; others have none.
struct JSONKeyNames {
    private typealias Slot = Atomic<UnsafeMutablePointer<JSONKeyName>?>
    /// A type with more keys is rare; their names are made each time.
    private static let slotCount = 64
    // Its slots are atomic.
    nonisolated(unsafe) private static let tables = JSONTypes<JSONKeyNames>()

    private let slots: UnsafeMutablePointer<Slot>?

    @inline(__always)
    static func of<Key: CodingKey>(_ type: Key.Type) -> JSONKeyNames { tables.value(of: type) { JSONKeyNames(type) } }

    private init<Key: CodingKey>(_ type: Key.Type) {
        guard MemoryLayout<Key>.size <= 1, _isPOD(Key.self) else {
            slots = nil
            return
        }
        let new = UnsafeMutablePointer<Slot>.allocate(capacity: Self.slotCount)
        for slot in 0..<Self.slotCount { (new + slot).initialize(to: Slot(nil)) }
        slots = new
    }

    /// The byte of a key that has a slot, or `nil`.
    @inline(__always)
    func byte<Key: CodingKey>(of key: Key) -> Int? {
        guard slots != nil else { return nil }
        let byte = MemoryLayout<Key>.size == 0 ? 0 : Int(unsafeBitCast(key, to: UInt8.self))
        return byte < Self.slotCount ? byte : nil
    }

    /// Calls a closure with the name of a key.
    @inline(__always)
    func with<Key: CodingKey, Result>(_ key: Key, _ body: (JSONKeyName) throws -> Result) rethrows -> Result {
        if let slots, let byte = byte(of: key) {
            if let name = (slots + byte).pointee.load(ordering: .acquiring) { return try body(name.pointee) }
            return try body(Self.made(key.stringValue, in: slots + byte))
        }
        var text = key.stringValue
        return try text.withUTF8 {
            try body(JSONKeyName($0.baseAddress.map { UnsafeRawPointer($0) } ?? Self.empty, $0.count))
        }
    }

    // Nothing is written to it.
    nonisolated(unsafe) private static let empty = UnsafeRawPointer(
        UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
    )

    @inline(never)
    private static func made(_ text: String, in slot: UnsafeMutablePointer<Slot>) -> JSONKeyName {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: text.utf8.count + 1, alignment: 8)
        bytes.copyMemory(from: Array(text.utf8), byteCount: text.utf8.count)
        let name = UnsafeMutablePointer<JSONKeyName>.allocate(capacity: 1)
        name.initialize(to: JSONKeyName(bytes, text.utf8.count))
        let (isKept, current) = slot.pointee.compareExchange(
            expected: nil,
            desired: name,
            ordering: .acquiringAndReleasing
        )
        guard !isKept, let current else { return name.pointee }
        name.deallocate()
        bytes.deallocate()
        return current.pointee
    }
}
