import Foundation

// Inputs that libFuzzer makes go through everything that reads JSON or a path. A trap ends the process; so does a result
// that contradicts another. Compiled by .ci/fuzz together with the library's sources, and part of no package target.

/// Reads one input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    switch count == 0 ? 0 : bytes[0] {
    // The first byte chooses, where it begins no JSON; what follows a NUL in the rest is a second text.
    case UInt8(ascii: "P"): Fuzz.path(UnsafeRawBufferPointer(rebasing: bytes[1...]))
    case UInt8(ascii: "E"): Fuzz.envelope(Data(bytes[1...]))
    default:
        Fuzz.scanner(bytes)
        Fuzz.envelope(Data(bytes))
    }
    return 0
}

private enum Fuzz {
    static let paths: [JSONPath] = [
        "data", "*.*", "data.*.id", "[0]", "[-1]", "(-2,0)", "(1,1).*", "data|json", "a|json.*",
    ]
    static let shapes: [JSONShape] = [
        ["code": .integer, "data": .object.optional.nullable], [.integer(in: -1...1)],
        .array(of: .string, maximumCount: 3),
        .exactly(["a": .string(oneOf: ["x", "é"])]), .values(.string(minimumLength: 1, maximumLength: 4)),
    ]
    static let filters: [any ResponseFilter] = [
        EnvelopeFilter(code: "code", message: "msg", data: "data", time: "time", others: ["x": "x.*", "y": "y[0]"]),
        lenient, EnvelopeFilter(code: "s.code", message: "s.msg", data: "d|json", success: .texts(["0", "ok"])),
        EnvelopeFilter(code: nil, message: "msg", data: "d.list[0]", success: .status), JSONRPCFilter(),
        JSONRPCBatchFilter(), FilterChain(JSONRPCFilter(), EnvelopeFilter(code: "code", data: "data")),
    ]
    static let url = URL(fileURLWithPath: "/")

    static var lenient: EnvelopeFilter {
        var filter = EnvelopeFilter(code: "code", data: "data")
        filter.missingCode = .isPayload
        filter.missingData = .isPayload
        filter.emptyData = [.string, .array, .object, .false, .zero]
        filter.codeOutranksStatus = true
        return filter
    }

    static var decoder: LosslessJSONDecoder {
        var decoder = LosslessJSONDecoder()
        decoder.convertsScalars = true
        decoder.readsJSONInStrings = true
        decoder.dropsNulls = true
        decoder.keys = .snakeCase
        return decoder
    }

    struct Model: Decodable {
        let code: Int?
        let data: [String: Double]?
        let list: [Date]?
        let msg: String?
        let some: Bool?
        let next: [Model]?
    }

    static func scanner(_ bytes: UnsafeRawBufferPointer) {
        let scanner = JSONScanner(bytes)
        let skipped = scanner.skipValue(at: 0)
        var members = JSONScanner.MemberIterator(scanner, objectAt: 0)
        while let member = members.next() { _ = scanner.string(in: member.name) }
        var elements = JSONScanner.ElementIterator(scanner, arrayAt: 0)
        while elements.next() != nil {}
        for path in paths { _ = try? path.range(in: bytes) }
        guard let range = try? JSONScanner.validate(bytes) else { return }
        hold(range.lowerBound > 0 || skipped == range.upperBound, "skipping and validating disagree")
        guard let value = try? JSONValue(parsing: UnsafeRawBufferPointer(rebasing: bytes[range])) else {
            return hold(false, "what is valid is not parsed")
        }
        let text = value.data
        hold((try? JSONValue(parsing: text)) == value, "writing and reading disagree")
        for shape in shapes { _ = try? shape.check(Data(bytes)) }
        _ = try? decoder.decode(Model.self, from: value)
        _ = try? JSONDecoder().decode(Model.self, from: Data(bytes))
    }

    static func path(_ bytes: UnsafeRawBufferPointer) {
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        let written = String(decoding: parts[0], as: UTF8.self)
        guard let path = try? JSONPath(written) else { return }
        guard let parts = try? path.get() else {
            return hold(false, "a path that was read cannot be used")
        }
        // Spelled anew it is the same path.
        let spelled = JSONPath.text(of: parts.steps[...])
        hold((try? JSONPath(spelled).get().steps) == parts.steps, "a path changes when it is spelled")
        let rest = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first
        guard let text = rest.map({ UnsafeRawBufferPointer(rebasing: $0) }) else { return }
        _ = try? path.range(in: text)
        _ = try? path.optionalRange(in: text)
        if (try? JSONScanner.validate(text)) != nil, case .assembled(let found)? = try? path.range(in: text) {
            hold(
                found.withUnsafeBytes { (try? JSONScanner.validate($0)) != nil },
                "a path put no JSON together"
            )
        }
    }

    static func envelope(_ body: Data) {
        var response = RawResponse(body: body, url: url)
        // Which of the two makes no difference to what is read, so one for each input will do.
        response.statusCode = body.count.isMultiple(of: 2) ? 200 : 500
        if response.statusCode == 500 { response.failure = NetworkError(.status(500), response: response) }
        for filter in filters {
            do {
                let payload = try filter.filter(response, for: RequestContext())
                use(payload)
                if filter is JSONRPCBatchFilter, let responses = try? JSONRPCBatchFormatter().format(payload) {
                    _ = responses.result(of: JSONRPCCall<Int>("x", id: 1))
                }
            } catch let error as ServiceError {
                _ = error.description
                if let payload = error.payload { use(payload) }
            } catch {
                _ = "\(error)"
            }
        }
    }

    /// The output of a filter is JSON, because Foundation's decoder would decode it without another check.
    private static func use(_ payload: Payload) {
        hold(payload.isGuarded, "a filter that guards itself made what is not guarded")
        let isJSON = payload.data.withUnsafeBytes { (try? JSONScanner.validate($0)) != nil }
        hold(isJSON, "a filter found what is no JSON")
        if payload.envelope?.code == 0 { _ = try? payload.decode(Model.self) }
        if let envelope = payload.envelope { _ = (envelope.code, envelope.message, envelope.time, envelope["x"]) }
    }

    /// Ends the process with a message, which a trap in optimized code does not have.
    private static func hold(_ isTrue: Bool, _ what: StaticString) {
        if isTrue { return }
        FileHandle.standardError.write(Data("contradiction: \(what)\n".utf8))
        abort()
    }
}
