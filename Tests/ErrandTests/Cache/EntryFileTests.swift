import Foundation
import Testing

@testable import Errand

@Suite(.ownThread) struct EntryFileTests {
    private let key = CacheKey("k")

    private func full() -> CacheEntry {
        var entry = CacheEntry.sample("body \u{0} ü")
        entry.method = "PROPFIND"
        entry.location = "https://api.example/a\"b\\c?d=\u{1}é"
        entry.statusCode = 404
        entry.headers = ["A": "1", "a": "2", "Empty": "", "Quote": "\"\\\t\u{7F}"]
        entry.received = Date(timeIntervalSince1970: 1_700_000_000.123456)
        entry.version = -3
        entry.variant = "user\n7"
        (entry.scope, entry.user, entry.isWeak) = ("s", "u", true)
        entry.vary = [.init(name: "accept", digest: "d"), .init(name: "x", digest: "")]
        entry.outline = CredentialOutline(names: ["token", "é=\n", ""], place: 3, count: 2, replacedCount: 1)
        return entry
    }

    private func same(_ one: CacheEntry, _ other: CacheEntry) -> Bool {
        one.metadata == other.metadata && one.body == other.body
    }

    @Test func whatIsWrittenIsRead() throws {
        for entry in [full(), .sample(""), .sample(String(repeating: "x", count: 100_000))] {
            let read = try #require(CacheEntry(data: entry.data(for: key), for: key))
            #expect(same(read, entry) && read.outline == entry.outline)
            #expect(read.body.startIndex == 0)
        }
    }

    @Test func theBytesOfAnotherKeyAreNone() {
        #expect(CacheEntry(data: full().data(for: key), for: CacheKey("other")) == nil)
    }

    @Test func everyTruncationAndFlippedBitIsDetected() {
        let data = full().data(for: key)
        for count in 0..<data.count { #expect(CacheEntry(data: data.prefix(count), for: key) == nil) }
        #expect(CacheEntry(data: data + Data([0]), for: key) == nil)
        for place in data.indices {
            for bit in 0..<8 {
                var damaged = data
                damaged[place] ^= 1 << bit
                #expect(CacheEntry(data: damaged, for: key) == nil)
            }
        }
    }

    /// XXH64 of the specification's sanity buffer, and of nothing.
    @Test(arguments: [
        (0, 0 as UInt64, 0xEF46_DB37_51D8_E999 as UInt64), (1, 0, 0xE934_A84A_DB05_2768),
        (14, 0, 0x8282_DCC4_994E_35C8),
        (222, 0, 0xB641_AE8C_B691_C174), (0, 2_654_435_761, 0xAC75_FDA2_929B_17EF),
        (222, 2_654_435_761, 0x20CB_8AB7_AE10_C14A),
    ])
    func theChecksumIsXXH64(count: Int, seed: UInt64, sum: UInt64) {
        var generator: UInt64 = 2_654_435_761
        let bytes = (0..<count).map { _ -> UInt8 in
            defer { generator &*= 11_400_714_785_074_694_797 }
            return UInt8(generator >> 56)
        }
        #expect(bytes.withUnsafeBytes { Checksum.of($0, seed: seed) } == sum)
    }

    @Test func aKeyIsReadFromItsDescription() {
        let name = key.description
        #expect(name.utf8.count == 64)
        #expect(CacheKey(description: name) == key)
        #expect(CacheKey(description: name.dropLast()) == nil)
        #expect(CacheKey(description: name.uppercased()) == nil)
    }
}
