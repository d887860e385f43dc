import Foundation

/// What the command line asks for.
enum Arguments {
    case help
    case list
    case serve
    case measure(client: String, count: Int, concurrency: Int, url: URL)
    case growth(count: Int, url: URL)
    case run([Suite], asJSON: Bool)

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    static let usage = """
        usage: swift run -c release Benchmarks [suite …] [--json]

        Runs the suites named, or all. Ratios are Errand over what they are against, so less is better;
        both sides run alternately in one process, and medians of several rounds are told.

          --json   one JSON object per line: name, value, unit, against
          --list   the suites
          --help   this
        """

    init(_ words: some Collection<String>) throws {
        let words = Array(words)
        func number(_ index: Int) throws -> Int {
            guard words.indices.contains(index), let value = Int(words[index]) else {
                throw Wrong(description: "a number is missing at place \(index + 1)")
            }
            return value
        }
        func url(_ index: Int) throws -> URL {
            guard words.indices.contains(index), let value = URL(string: words[index]) else {
                throw Wrong(description: "a URL is missing at place \(index + 1)")
            }
            return value
        }
        switch words.first {
        case "--serve": self = .serve
        case "--measure":
            self = .measure(
                client: words.count > 1 ? words[1] : "",
                count: try number(2),
                concurrency: try number(3),
                url: try url(4)
            )
        case "--growth": self = .growth(count: try number(1), url: try url(2))
        default:
            if words.contains("--help") {
                self = .help
                return
            }
            if words.contains("--list") {
                self = .list
                return
            }
            let suites = try words.filter { $0 != "--json" }.map { name in
                guard let suite = Suite.all.first(where: { $0.name == name }) else {
                    let known = Suite.all.map(\.name).joined(separator: ", ")
                    throw Wrong(description: "there is no suite '\(name)'; there are: \(known)")
                }
                return suite
            }
            self = .run(suites.isEmpty ? Suite.all : suites, asJSON: words.contains("--json"))
        }
    }
}
