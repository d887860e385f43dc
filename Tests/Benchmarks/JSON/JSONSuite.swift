import Errand
import Foundation

extension Suite {
    /// The cost of an envelope, a path and the guard, compared with decoding.
    static let json = Suite(name: "json", summary: "processor time from a body to a model, through an envelope") {
        try JSONBenchmarks(reporter: $0).run()
    }
}

private struct JSONBenchmarks {
    let reporter: Reporter

    private let direct = "JSONDecoder on a hand-written envelope"
    private let tree = "JSONSerialization, dictionary, data, JSONDecoder"

    func run() throws {
        for (name, byteCount, repetitions) in [("1k", 1_000, 40), ("10k", 10_000, 4), ("1m", 1_000_000, 1)] {
            try compareModels(name, byteCount, repetitions)
        }
        try compareFloor()
        try compareArrays()
        try compareRefusal()
        try comparePath()
        try measureScanner()
    }

    /// Through the filter and the formatter, against both ways of doing it by hand.
    private func compareModels(_ name: String, _ byteCount: Int, _ repetitions: Int) throws {
        let (body, count) = Catalogue.body(ofAtLeast: byteCount)
        let response = try Self.response(body)
        let context = RequestContext()
        let work = { try require(try Self.errand(response, context).isWhole(count)) }
        let direct = try PairedTimes(rounds: 31, turns: byteCount < 1_000_000 ? 30 : 3, repetitions: repetitions)
            .ratios(of: work, over: [{ try require(try Self.direct(body).isWhole(count)) }])
        try report("json.\(name).direct", direct[0], against: self.direct)
        let both = PairedTimes(rounds: 31, turns: byteCount < 1_000_000 ? 30 : 3, repetitions: repetitions)
        let (decoder, encoder, foundation) = (LosslessJSONDecoder(), LosslessJSONEncoder(), JSONEncoder())
        let decoded = try both.ratios(
            of: { try require(try decoder.decode(HandWritten.self, from: body).data?.isWhole(count) == true) },
            over: [{ try require(try Self.direct(body).isWhole(count)) }]
        )
        try report("json.\(name).decode", decoded[0], against: self.direct)
        let model = try Self.direct(body)
        let encoded = try both.ratios(
            of: { try require(try encoder.encode(model).count > byteCount / 2) },
            over: [{ try require(try foundation.encode(model).count > byteCount / 2) }]
        )
        try report("json.\(name).encode", encoded[0], against: "JSONEncoder")
        let tree = try PairedTimes(rounds: 15, turns: byteCount < 1_000_000 ? 8 : 1, repetitions: repetitions)
            .ratios(of: work, over: [{ try require(try Self.tree(body).isWhole(count)) }])
        try report("json.\(name).tree", tree[0], against: self.tree)
    }

    /// What a decoder costs that parses nothing.
    private func compareFloor() throws {
        let (body, count) = Catalogue.body(ofAtLeast: 10_000)
        let decoder = LosslessJSONDecoder()
        let floor = try PairedTimes(rounds: 31, turns: 30, repetitions: 4).ratios(
            of: { try require(try Catalogue(from: FloorDecoder(count: count)).items.count == count) },
            over: [
                { try require(try Self.direct(body).isWhole(count)) },
                { try require(try decoder.decode(HandWritten.self, from: body).data?.isWhole(count) == true) },
            ]
        )
        try report("json.floor", floor[0], against: direct)
        let above = Rounds(values: floor[1].values.map { 1 / $0 })
        try report("json.floor.decode", above, against: "the decoder that parses nothing")
    }

    /// Arrays of 100,000 elements, which have a way of their own.
    private func compareArrays() throws {
        func compare<T: Decodable>(_ name: String, _ type: T.Type, _ element: (Int) -> String) throws {
            let body = Data("[\((0..<100_000).map(element).joined(separator: ","))]".utf8)
            let decoder = LosslessJSONDecoder()
            let ratios = try PairedTimes(rounds: 9, turns: 1, repetitions: 1).ratios(
                of: { _ = try decoder.decode(type, from: body) },
                over: [{ _ = try Self.decoder.decode(type, from: body) }]
            )
            try report("json.array.\(name)", ratios[0], against: "JSONDecoder")
        }
        try compare("decode", [Double].self) { "\(Double($0) / 8)" }
        try compare("enums", [Cup].self) { #""\#(Cup.allCases[$0 % 3])""# }
        try compare("optionals", [Int?].self) { $0.isMultiple(of: 3) ? "null" : "\($0)" }
        try compare("structs", [One].self) { #"{"value":\#($0)}"# }
    }

    private enum Cup: String, Decodable, CaseIterable { case small, medium, large }
    private struct One: Decodable { let value: Int }

    /// An envelope whose code is a failure, with all of its data read and judged sound.
    private func compareRefusal() throws {
        let (body, _) = Catalogue.body(ofAtLeast: 1_000_000, code: 40001)
        let response = try Self.response(body)
        let context = RequestContext()
        let ratios = try PairedTimes(rounds: 21, turns: 1, repetitions: 1).ratios(
            of: {
                do {
                    _ = try Self.errand(response, context)
                    throw Unexpected()
                } catch is ServiceError {}
            },
            over: [{ try require(try Self.decoder.decode(HandWritten.self, from: body).code == 40001) }]
        )
        try report("json.refusal.1m.direct", ratios[0], against: direct)
    }

    /// One small object behind a megabyte of others, the body validated on the way.
    private func comparePath() throws {
        let (body, count) = Catalogue.body(ofAtLeast: 1_000_000)
        let response = try Self.response(body)
        let context = RequestContext()
        let formatter = JSONFormatter<Catalogue.Seller>(at: "summary")
        let ratios = try PairedTimes(rounds: 21, turns: 1, repetitions: 1).ratios(
            of: {
                let payload = try Self.filter.filter(response, for: context)
                try require(try formatter.format(payload).id == 77)
            },
            over: [{ try require(try Self.direct(body).isWhole(count)) }]
        )
        try report("json.path.1m.full", ratios[0], against: "all of it by \(self.direct)")
    }

    private func measureScanner() throws {
        let (body, _) = Catalogue.body(ofAtLeast: 1_000_000)
        let bytes = [UInt8](body)
        let skipped = try PairedTimes(rounds: 21, turns: 10, repetitions: 2).times(of: {
            let end = bytes.withUnsafeBytes { JSONScanner($0).skipValue(at: 0) }
            try require(end == bytes.count)
        })
        try reportSpeed("json.scan.1m", skipped, byteCount: bytes.count)
        let validated = try PairedTimes(rounds: 21, turns: 10, repetitions: 2).times(of: {
            let range = try bytes.withUnsafeBytes { try JSONScanner.validate($0) }
            try require(range.count == bytes.count)
        })
        try reportSpeed("json.validate.1m", validated, byteCount: bytes.count)
    }

    private static let filter = EnvelopeFilter(code: "code", message: "msg", data: "data", success: [0])
    private static let formatter = JSONFormatter<Catalogue>()
    private static let decoder = JSONDecoder()

    private static func errand(_ response: RawResponse, _ context: RequestContext) throws -> Catalogue {
        try formatter.format(filter.filter(response, for: context))
    }

    private struct HandWritten: Decodable {
        let code: Int
        let msg: String?
        let data: Catalogue?
    }

    private static func direct(_ body: Data) throws -> Catalogue {
        let envelope = try decoder.decode(HandWritten.self, from: body)
        guard envelope.code == 0, let data = envelope.data else { throw Unexpected() }
        return data
    }

    private static func tree(_ body: Data) throws -> Catalogue {
        guard let envelope = try JSONSerialization.jsonObject(with: body) as? [String: Any],
            envelope["code"] as? Int == 0, let data = envelope["data"]
        else { throw Unexpected() }
        return try decoder.decode(Catalogue.self, from: JSONSerialization.data(withJSONObject: data))
    }

    private static func response(_ body: Data) throws -> RawResponse {
        guard let url = URL(string: "https://api.example/items") else { throw Unexpected() }
        return RawResponse(headers: ["Content-Type": "application/json"], body: body, url: url)
    }

    private func report(_ name: String, _ ratios: Rounds, against: String) throws {
        try reporter.report(name, ratios.median, unit: "ratio", against: against, spread: ratios.spread)
    }

    private func reportSpeed(_ name: String, _ times: Rounds, byteCount: Int) throws {
        let speeds = Rounds(values: times.values.map { Double(byteCount) / $0 / 1e9 })
        try reporter.report(name, speeds.median, unit: "GB/s", spread: speeds.spread)
    }
}

/// A measured function returned a wrong result.
private struct Unexpected: Error {}

private func require(_ isTrue: Bool) throws { if !isTrue { throw Unexpected() } }
