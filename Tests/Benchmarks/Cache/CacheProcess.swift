import Errand
import Foundation

/// The work of another process on a cache during a test; the content of entries shows whether they are the right ones.
enum CacheProcess {
    private static let keyCount = 64
    /// More than fit into the store, so that entries are evicted, too.
    private static let hammeredKeyCount = 256

    private static func key(_ number: Int) -> CacheKey { CacheKey("proof \(number)") }

    /// An entry that names its key, and repeats that to its end.
    private static func entry(_ number: Int, _ generation: Int, _ count: Int) -> CacheEntry {
        let head = "\(number) \(generation) \(count)"
        let body = head + ";" + String(repeating: "\(number).\(generation),", count: count)
        let url = URL(fileURLWithPath: "/")
        let response = RawResponse(headers: ["X-Proof": head], body: Data(body.utf8), url: url)
        return CacheEntry(response, requested: Date())
    }

    /// Writes until it is killed.
    static func write(to directory: URL, generation: Int) -> Never {
        let store = DiskStore(directory: directory, maximumSize: 2 << 20)
        var count = 0
        while true {
            // Enough for its reader to find some, however slow the machine is.
            if count == 8 { FileHandle.standardOutput.write(Data("r".utf8)) }
            count += 1
            let number = Int.random(in: 0..<keyCount)
            // The reader sees failures.
            try? store.store(entry(number, generation, Int.random(in: 0..<8_000)), for: key(number))
        }
    }

    /// Writes a few entries, and returns how many that failed for.
    static func writeSome(to directory: URL, limit: Int) -> Int {
        let store = DiskStore(directory: directory, maximumSize: limit)
        return (0..<5).count { _ in
            let number = Int.random(in: 0..<Int.max)
            do { try store.store(entry(0, 1, 5_000), for: key(number)) } catch { return true }
            return false
        }
    }

    /// Writes, reads, removes, trims and clears for some seconds, and returns what it saw.
    static func hammer(_ directory: URL, seconds: Int, generation: Int) -> String {
        let store = DiskStore(directory: directory, maximumSize: 4 << 20)
        let end = ContinuousClock.now + .seconds(seconds)
        var (wrong, reads, writes, failed) = (0, 0, 0, 0)
        // On a slow machine the time is not enough to fill the store.
        while ContinuousClock.now < end || writes < 500 {
            for _ in 0..<100 {
                let number = Int.random(in: 0..<hammeredKeyCount)
                switch Int.random(in: 0..<2_000) {
                case 0: try? store.trim(toBytes: 0)
                case 1...5: try? store.trim(toBytes: Int.random(in: 0..<4 << 20))
                case 6...100: try? store.remove(for: key(number))
                case 101...700:
                    let entry = entry(number, generation &* 1_000_000 &+ writes, Int.random(in: 0..<5_000))
                    do { try store.store(entry, for: key(number)) } catch { failed += 1 }
                    writes += 1
                default:
                    do {
                        guard let found = try store.entry(for: key(number)) else { continue }
                        reads += 1
                        if !isRight(found, number) { wrong += 1 }
                    } catch {
                        wrong += 1
                    }
                }
            }
        }
        return "\(wrong) wrong, \(reads) reads, \(writes) writes, \(failed) of them failed"
    }

    private static func isRight(_ entry: CacheEntry, _ number: Int) -> Bool {
        let text = String(decoding: entry.body, as: UTF8.self)
        let head = text.prefix { $0 != ";" }.split(separator: " ").compactMap { Int($0) }
        return head.count == 3 && head[0] == number && Self.entry(number, head[1], head[2]).body == entry.body
    }

    /// How many MiB looking up all of some entries, and counting them, costs.
    static func memory(_ directory: URL, count: Int) throws -> Double {
        // The cost of the first use is not the cache's.
        _ = try DiskStore(directory: directory).entry(for: CacheSample.key(0))
        let before = ProcessFigures.residentMemory ?? 0
        let store = DiskStore(directory: directory, maximumSize: .max, maximumCount: .max)
        for number in 0..<count where try store.entry(for: CacheSample.key(number)) == nil {
            throw ChildProcess.Failed(description: "entry \(number) is not there")
        }
        return (ProcessFigures.residentMemory ?? 0) - before
    }
}
