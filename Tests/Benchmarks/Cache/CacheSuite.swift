import Errand
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Suite {
    /// The cost of a look-up and a store, compared with the system calls that they need.
    static let cache = Suite(name: "cache", summary: "time of look-ups and stores, and memory of many entries") {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // what is left over is only a temporary folder
        try await CacheBench(folder: folder, reporter: $0).run()
    }
}

extension Suite {
    /// Minutes, for making and removing a million files, so it is best run alone.
    static let cacheMillion = Suite(name: "cache-million", summary: "opening, and look-ups among a million entries") {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // what is left over is only a temporary folder
        try CacheBench(folder: folder, reporter: $0).compareMillion()
    }
}

private struct CacheBench {
    let folder: URL
    let reporter: Reporter
    private let rounds = 21
    private let sizes = [("1k", 1_000), ("100k", 100_000)]

    func run() async throws {
        for (name, size) in sizes {
            try compareLookups(name, size)
            try compareStores(name, size)
        }
        try await memoryHits()
        try compareURLCache()
        try compareScale()
    }

    private func directory(_ name: String) -> URL { folder.appending(path: name) }

    private func store(_ name: String) -> DiskStore {
        DiskStore(directory: directory(name), maximumSize: .max, maximumCount: .max)
    }

    /// Fills a store and returns the paths of its files.
    private func fill(_ store: DiskStore, _ count: Int, size: Int) throws -> [String] {
        for number in 0..<count { try store.store(CacheSample.entry(number, size: size), for: CacheSample.key(number)) }
        return (0..<count).map { number in
            let name = CacheSample.key(number).description
            return store.directory.appending(path: "v2/\(name.prefix(2))/\(name)").path
        }
    }

    /// Times several pieces of work alternately, and returns the ratios of the first to the others, round by round.
    private func ratios(_ first: @escaping () throws -> Void, _ others: [() throws -> Void]) throws -> [Rounds] {
        var ratios: [[Double]] = others.map { _ in [] }
        let works = [first] + others
        for work in works { try work() }
        for round in 0..<rounds {
            var times = [Double](repeating: 0, count: works.count)
            for turn in works.indices {
                let place = (round + turn) % works.count
                times[place] = try time(works[place])
            }
            for place in others.indices { ratios[place].append(times[0] / times[place + 1]) }
        }
        return ratios.map(Rounds.init)
    }

    private func time(_ work: () throws -> Void) rethrows -> Double {
        let before = ProcessFigures.processorTime
        try work()
        return ProcessFigures.processorTime - before
    }

    private func report(_ name: String, _ ratios: Rounds, against: String) throws {
        try reporter.report(name, ratios.median, unit: "ratio", against: against, spread: ratios.spread)
    }

    // MARK: Look-ups

    private func compareLookups(_ name: String, _ size: Int) throws {
        let (count, store) = (size < 10_000 ? 1_000 : 100, store("lookup-\(name)"))
        let paths = try fill(store, count, size: size)
        let keys = (0..<count).map(CacheSample.key)
        let repeats = size < 10_000 ? 12 : 30
        let ratios = try ratios(
            { for _ in 0..<repeats { for key in keys { try found(store.entry(for: key)) } } },
            [{ for _ in 0..<repeats { for path in paths { try POSIXFile.readChecked(path) } } }]
        )
        try report("cache.hit.disk.\(name).read", ratios[0], against: "POSIX read and the same checksum")
    }

    private func found(_ entry: CacheEntry?) throws {
        guard entry != nil else { throw ChildProcess.Failed(description: "an entry is not there") }
    }

    private func compareScale() throws {
        let (few, many) = (1_000, 100_000)
        let (small, large) = (store("few"), store("many"))
        _ = try fill(small, few, size: 1_000)
        _ = try fill(large, many, size: 1_000)
        var generator = SystemRandomNumberGenerator()
        let keys = (0..<many).map(CacheSample.key)
        let ratios = try ratios(
            { for _ in 0..<10_000 { try found(large.entry(for: keys[Int.random(in: 0..<many, using: &generator)])) } },
            [{ for _ in 0..<10_000 { try found(small.entry(for: keys[Int.random(in: 0..<few, using: &generator)])) } }]
        )
        try report("cache.scale.100000", ratios[0], against: "1,000 entries")
        let misses = (0..<10_000).map { CacheKey("miss \($0)") }
        let missed = try self.ratios(
            { for key in misses { _ = try large.entry(for: key) } },
            [{ for key in misses { _ = try small.entry(for: key) } }]
        )
        try report("cache.scale.100000.miss", missed[0], against: "1,000 entries")
        guard ProcessFigures.residentMemory != nil else {
            return reporter.skip("cache.rss.100000", because: "the system has no file with memory figures")
        }
        let arguments = ["--cache-memory", large.directory.path, "\(many)"]
        let output = try ChildProcess.output(of: ChildProcess.executable, arguments)
        guard let growth = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw ChildProcess.Failed(description: "the child reported no memory: \(output)")
        }
        try reporter.report("cache.rss.100000", growth, unit: "MiB")
    }

    /// A million entries, written without the store, because that takes half of the time.
    func compareMillion() throws {
        let (few, many) = (1_000, 1_000_000)
        let (small, large) = (store("few"), store("million"))
        _ = try fill(small, few, size: 1_000)
        try CacheSample.write(many, size: 1_000, to: large.directory)
        guard large.totals().count == many else { throw ChildProcess.Failed(description: "entries are not there") }
        var times: [Double] = []
        for _ in 0..<rounds {
            let began = ContinuousClock.now
            let opened = store("million")
            try found(opened.entry(for: CacheSample.key(Int.random(in: 0..<many))))
            times.append((ContinuousClock.now - began) / .milliseconds(1))
        }
        let opening = Rounds(values: times)
        try reporter.report("cache.open.1000000", opening.median, unit: "ms", spread: opening.spread)
        func lookUp(_ store: DiskStore, _ keys: [CacheKey]) throws {
            for key in keys { try found(store.entry(for: key)) }
        }
        let fewKeys = (0..<10_000).map { _ in CacheSample.key(Int.random(in: 0..<few)) }
        // The same entries in each round, so that the page cache has them.
        let manyKeys = (0..<10_000).map { _ in CacheSample.key(Int.random(in: 0..<many)) }
        let ratios = try ratios({ try lookUp(large, manyKeys) }, [{ try lookUp(small, fewKeys) }])
        try report("cache.scale.1000000", ratios[0], against: "1,000 entries")
        var cold: [Double] = []
        for _ in 0..<rounds {
            let keys = (0..<10_000).map { _ in CacheSample.key(Int.random(in: 0..<many)) }
            let other = try time { try lookUp(small, fewKeys) }
            cold.append(try time { try lookUp(large, keys) } / other)
        }
        try report("cache.scale.1000000.cold", Rounds(values: cold), against: "1,000 entries in the page cache")
    }

    private func memoryHits() async throws {
        let cache = ResponseCache(memory: MemoryStore(maximumSize: .max, maximumCount: .max), disk: nil)
        let keys = (0..<1_000).map(CacheSample.key)
        for (number, key) in keys.enumerated() { cache.store(CacheSample.entry(number, size: 1_000), for: key) }
        var times: [Double] = []
        for _ in 0..<rounds {
            let before = ProcessFigures.processorTime
            for _ in 0..<20 { for key in keys { _ = try await cache.entry(for: key) } }
            times.append((ProcessFigures.processorTime - before) / 20_000 * 1e6)
        }
        let rounds = Rounds(values: times)
        try reporter.report("cache.hit.memory", rounds.median, unit: "µs", spread: rounds.spread)
    }

    // MARK: Stores

    private func compareStores(_ name: String, _ size: Int) throws {
        // 100 KB each soon make the disk itself the measure.
        let (count, store) = (size < 10_000 ? 200 : 50, store("store-\(name)"))
        let bare = directory("bare-\(name)")
        try FileManager.default.createDirectory(at: bare, withIntermediateDirectories: true)
        let entries = (0..<count).map { CacheSample.entry($0, size: size) }
        let keys = (0..<count).map(CacheSample.key)
        let files = zip(entries, keys).map { $0.data(for: $1) }
        let paths = keys.map { bare.appending(path: $0.description).path }
        let aside = bare.appending(path: "aside").path
        let ratios = try ratios(
            { for (entry, key) in zip(entries, keys) { try store.store(entry, for: key) } },
            [{ for (file, path) in zip(files, paths) { try POSIXFile.write(file, aside: aside, as: path) } }]
        )
        try report("cache.store.\(name).rename", ratios[0], against: "POSIX write aside and rename")
    }

    // MARK: URLCache

    private func compareURLCache() throws {
        let count = 1_000
        let store = store("against-urlcache")
        _ = try fill(store, count, size: 1_000)
        let directory = directory("urlcache")
        let cache = URLCache(memoryCapacity: 0, diskCapacity: 1 << 30, diskPath: directory.path)
        // Storing takes a time that grows with the square of the number: each store lists the directory three times.
        try fill(cache, count)
        let requests = (0..<20).map { URLRequest(url: Self.url($0 * 50)) }
        let keys = (0..<count).map(CacheSample.key)
        var ratios: [Double] = []
        for _ in 0..<5 {
            var hits = 0
            let theirs =
                time { for request in requests where cache.cachedResponse(for: request) != nil { hits += 1 } } / 20
            let ours = try time { for key in keys { try found(store.entry(for: key)) } } / Double(count)
            guard hits > 0 else {
                return reporter.skip("cache.hit.disk.urlcache", because: "URLCache found nothing of what it stored")
            }
            ratios.append(ours / theirs)
        }
        try report("cache.hit.disk.urlcache", Rounds(values: ratios), against: "URLCache on disk, 1,000 entries")
    }

    private static func url(_ number: Int) -> URL {
        URL(string: "https://api.example/items/\(number)") ?? URL(fileURLWithPath: "/")
    }

    private func fill(_ cache: URLCache, _ count: Int) throws {
        let body = Data(repeating: 0x78, count: 1_000)
        for number in 0..<count {
            let headers = ["Content-Type": "application/json", "Cache-Control": "max-age=3600"]
            let url = Self.url(number)
            guard let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: headers)
            else { continue }
            let response = CachedURLResponse(response: head, data: body)
            cache.storeCachedResponse(response, for: URLRequest(url: url))
        }
    }
}
