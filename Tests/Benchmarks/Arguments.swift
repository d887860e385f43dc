import Foundation

/// The work that the command line selects.
enum Arguments {
    case help
    case list
    /// Serves in a process of its own, for a parent that measures.
    case serve
    /// Sends and does nothing else, for a parent that counts instructions.
    case measure(client: Client, count: Int, concurrency: Int, url: URL)
    /// Sends and prints how far memory grew.
    case growth(Client, count: Int, url: URL)
    /// Writes to a cache until it is killed.
    case cacheWrite(URL, generation: Int)
    /// Writes to and reads from a cache that another process uses, too.
    case cacheHammer(URL, seconds: Int, generation: Int)
    /// Writes a few entries to a cache, and prints how many could not be written.
    case cacheSome(URL, limit: Int)
    /// Prints what looking up many entries costs in memory.
    case cacheMemory(URL, count: Int)
    /// Uploads a file, or a form with it, and prints what that needs of memory.
    case upload(String, URL, to: URL)
    case download(URL, from: URL)
    case run([Suite], asJSON: Bool)

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    static let usage = """
        usage: swift run -c release Benchmarks [suite …] [--json]

        Runs the suites named, or all. A ratio is Errand over what it is against, so less is better;
        both sides run alternately in one process, and the median of several rounds is reported.

          --json   one JSON object per line: name, value, unit, against
          --list   the suites
          --help   this
        """

    init(_ words: [String]) throws {
        switch words.first {
        case "--serve":
            self = .serve
        case "--measure" where words.count == 5:
            let (count, concurrency) = (try Self.number(words[2]), try Self.number(words[3]))
            let client = try Self.client(words[1])
            self = .measure(client: client, count: count, concurrency: concurrency, url: try Self.url(words[4]))
        case "--growth" where words.count == 4:
            let client = try Self.client(words[1])
            self = .growth(client, count: try Self.number(words[2]), url: try Self.url(words[3]))
        case "--cache-write" where words.count == 3:
            self = .cacheWrite(URL(fileURLWithPath: words[1]), generation: Int(words[2]) ?? 0)
        case "--cache-hammer" where words.count == 4:
            let seconds = try Self.number(words[2])
            self = .cacheHammer(URL(fileURLWithPath: words[1]), seconds: seconds, generation: Int(words[3]) ?? 0)
        case "--cache-some" where words.count == 3:
            self = .cacheSome(URL(fileURLWithPath: words[1]), limit: try Self.number(words[2]))
        case "--cache-memory" where words.count == 3:
            self = .cacheMemory(URL(fileURLWithPath: words[1]), count: try Self.number(words[2]))
        case "--download" where words.count == 3:
            self = .download(URL(fileURLWithPath: words[1]), from: try Self.url(words[2]))
        case "--upload" where words.count == 4:
            self = .upload(words[1], URL(fileURLWithPath: words[2]), to: try Self.url(words[3]))
        default:
            self = try Self.command(words)
        }
    }

    private static func command(_ words: [String]) throws -> Arguments {
        if words.contains("--help") { return .help }
        if words.contains("--list") { return .list }
        let suites = try words.filter { $0 != "--json" }.map(suite)
        return .run(suites.isEmpty ? Suite.all : suites, asJSON: words.contains("--json"))
    }

    private static func suite(_ name: String) throws -> Suite {
        if let suite = Suite.all.first(where: { $0.name == name }) { return suite }
        let known = Suite.all.map(\.name).joined(separator: ", ")
        throw Wrong(description: "there is no suite or option '\(name)'; suites: \(known); see --help")
    }

    private static func client(_ name: String) throws -> Client {
        if let client = Client.all.first(where: { $0.name == name }) { return client }
        throw Wrong(description: "there is no client '\(name)'")
    }

    private static func number(_ word: String) throws -> Int {
        if let number = Int(word), number > 0 { return number }
        throw Wrong(description: "'\(word)' is not a number above zero")
    }

    private static func url(_ word: String) throws -> URL {
        if let url = URL(string: word), url.host() != nil { return url }
        throw Wrong(description: "'\(word)' is not a URL")
    }
}
