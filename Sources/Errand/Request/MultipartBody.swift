internal import Foundation

/// The body of a form: assembled while it is read, with a length that is known beforehand if the lengths of its parts are.
struct MultipartBody: BodySource {
    let contentType: String
    let byteCount: Int64?
    private let segments: [OutgoingBody]

    /// - Parameters:
    ///   - form: The form.
    ///   - isNested: Whether it is a part of another form.
    ///   - makeBoundary: Makes a random boundary.
    /// - Throws: ``NetworkError`` if a file cannot be read, or a header field or a length is invalid.
    init(
        _ form: MultipartForm,
        isNested: Bool = false,
        makeBoundary: () -> String = Self.randomBoundary
    ) throws(NetworkError) {
        var parts: [(header: Data, content: OutgoingBody)] = []
        for part in form.parts {
            var part = part
            let content: OutgoingBody
            switch part.content {
            case .data(let data): content = .data(data)
            case .file(let url): content = .source(try FileSource(url))
            case .source(let source): content = .source(source)
            case .form(let form):
                let body = try MultipartBody(form, isNested: true, makeBoundary: makeBoundary)
                // Without its boundary a form cannot be read.
                (part.contentType, part.headers["Content-Type"]) = (body.contentType, nil)
                content = .source(body)
            }
            parts.append((try part.headerSection(isNested: isNested), content))
        }
        var boundary: Data
        repeat { boundary = Data(makeBoundary().utf8) } while parts.contains { $0.header.range(of: boundary) != nil }
        var segments: [OutgoingBody] = []
        for (header, content) in parts {
            let start = (segments.isEmpty ? "" : "\r\n") + "--"
            segments += [.data(Data(start.utf8) + boundary + Data("\r\n".utf8) + header), content]
        }
        let start = (segments.isEmpty ? "" : "\r\n") + "--"
        segments.append(.data(Data(start.utf8) + boundary + Data("--\r\n".utf8)))
        byteCount = try Self.length(of: segments)
        self.segments = segments
        contentType =
            "multipart/\(isNested ? "mixed" : "form-data"); boundary=\(String(decoding: boundary, as: UTF8.self))"
    }

    /// Returns a boundary with 128 random bits.
    static func randomBoundary() -> String {
        var generator = SystemRandomNumberGenerator()
        let halves = [generator.next(), generator.next()]
        return "errand-"
            + halves.map { half in
                let digits = String(half, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined()
    }

    private static func length(of segments: [OutgoingBody]) throws(NetworkError) -> Int64? {
        var sum: Int64 = 0
        for segment in segments {
            try segment.validateLength()
            guard let count = segment.byteCount else { return nil }
            let (total, isTooLarge) = sum.addingReportingOverflow(count)
            guard !isTooLarge else { throw NetworkError(.unencodable("the form is larger than any body can be")) }
            sum = total
        }
        return sum
    }

    var isReplayable: Bool { segments.allSatisfy(\.isReplayable) }

    func makeReader() -> any BodyReader { Reader(segments) }

    /// Reads one segment after the other, and opens each only then.
    private final class Reader: BodyReader {
        private var rest: ArraySlice<OutgoingBody>
        private var reader: (any BodyReader)?

        init(_ segments: [OutgoingBody]) { rest = segments[...] }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            var filled = 0
            while filled < buffer.count {
                guard let reader = try reader ?? rest.popFirst()?.makeReader() else { break }
                self.reader = reader
                let count = try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
                if count == 0 { self.reader = nil }
                filled += count
            }
            return filled
        }
    }
}

extension MultipartForm.Part {
    /// Returns the header section of the part with the empty line after it.
    ///
    /// - Throws: ``NetworkError`` if a name or value of a field contains characters that would end it.
    fileprivate func headerSection(isNested: Bool) throws(NetworkError) -> Data {
        var fields = HTTPHeaders()
        var disposition = isNested ? "attachment" : "form-data"
        if !isNested || !name.isEmpty { disposition += "; name=\"\(name.escapedForForm)\"" }
        if let fileName { disposition += "; filename=\"\(fileName.escapedForForm)\"" }
        fields.add("Content-Disposition", disposition)
        if let contentType { fields.add("Content-Type", contentType) }
        for field in headers { fields[field.name] = nil }
        for field in headers { fields.add(field.name, field.value) }
        var text = ""
        for field in fields {
            // The name and the file name of the part are escaped, and may contain other control characters.
            let isOwn = field.name == "Content-Disposition" && !headers.contains(field.name)
            if !isOwn { try field.validate() }
            text += "\(field.name): \(field.value)\r\n"
        }
        return Data((text + "\r\n").utf8)
    }
}

extension String {
    /// The text as the value of a parameter of `Content-Disposition` in a form.
    ///
    /// Source: HTML, section 4.10.21.8, "Multipart form data".
    fileprivate var escapedForForm: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": text += "%22"
            case "\r": text += "%0D"
            case "\n": text += "%0A"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
