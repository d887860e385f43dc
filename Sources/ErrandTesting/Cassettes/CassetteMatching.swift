import Errand
public import Foundation

/// What of two requests is compared, as lines with a name, in the order in which a difference matters.
struct CassetteKey: Sendable, Equatable {
    struct Part: Sendable, Equatable {
        let name: String
        let value: String
    }

    let parts: [Part]
    /// The values of the request's secrets, which are not compared, but choose among equal entries.
    let credentials: [String]

    static func == (one: CassetteKey, other: CassetteKey) -> Bool { one.parts == other.parts }

    /// The method and the URL, without secrets.
    var place: String { parts.prefix(2).map(\.value).joined(separator: " ") }

    /// - Parameters:
    ///   - request: The request, with the same word in place of each secret.
    ///   - fields: The names of the header fields that are compared.
    ///   - ignoresOrigin: Whether scheme, host and port are not compared.
    ///   - credentials: The values of the request's secrets.
    ///   - isIgnored: Whether the values of a name are not compared.
    init(
        _ request: MockRequest,
        fields: [String],
        ignoringOrigin ignoresOrigin: Bool,
        credentials: [String],
        ignoring isIgnored: (String) -> Bool
    ) {
        self.credentials = credentials
        func shown(_ name: String, _ value: String) -> String { isIgnored(name) ? "(any)" : value }
        var parts = [Part(name: "method", value: request.method.rawValue)]
        let place = (request.url ?? request.target).prefix { $0 != "?" && $0 != "#" }
        parts.append(Part(name: "URL", value: ignoresOrigin ? request.path : String(place)))
        let query = request.queryItems.map { Part(name: "query \($0.name)", value: shown($0.name, $0.value)) }
        parts += query.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        parts += fields.map { name in
            Part(name: "header \(name)", value: shown(name, request.headers.values(for: name).joined(separator: ", ")))
        }
        let type = request.headers["Content-Type"]?.lowercased() ?? ""
        if request.body.isEmpty {
            // Nothing to compare.
        } else if let json = try? JSONValue(parsing: request.body) {
            Self.add(json, "body", to: &parts, isIgnored)
        } else if type.hasPrefix("multipart/form-data") || type.hasPrefix("application/x-www-form-urlencoded") {
            let items = request.formItems.map { item in
                let file = item.fileName.map { " (\($0))" } ?? ""
                return Part(name: "form \(item.name)", value: shown(item.name, Self.text(item.data) + file))
            }
            parts += items.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        } else {
            // The boundary of other parts may be random; it is the first line.
            let line = String(decoding: request.body.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
            let hasBoundary = type.hasPrefix("multipart/") && line.hasPrefix("--")
            let text = Self.text(request.body)
            parts.append(Part(name: "body", value: hasBoundary ? text.replacing(line, with: "--") : text))
        }
        self.parts = parts
    }

    private static func add(_ json: JSONValue, _ path: String, to parts: inout [Part], _ isIgnored: (String) -> Bool) {
        switch json {
        case .object(let object) where !object.isEmpty:
            for member in object.sorted(by: { $0.name < $1.name }) {
                let name = "\(path).\(member.name)"
                if isIgnored(member.name) {
                    parts.append(Part(name: name, value: "(any)"))
                } else {
                    add(member.value, name, to: &parts, isIgnored)
                }
            }
        case .array(let elements) where !elements.isEmpty:
            for (index, element) in elements.enumerated() { add(element, "\(path)[\(index)]", to: &parts, isIgnored) }
        default: parts.append(Part(name: path, value: "\(json)"))
        }
    }

    private static func text(_ body: Data) -> String {
        String(validating: body, as: UTF8.self) ?? "\(body.count) bytes, \(body.base64EncodedString())"
    }

    /// Returns a line for each part in which a request differs from the recorded one.
    func differences(from recorded: CassetteKey) -> [String] {
        var left = recorded.parts
        var lines: [String] = []
        for part in parts where left.firstIndex(of: part).map({ left.remove(at: $0) }) == nil {
            if let index = left.firstIndex(where: { $0.name == part.name && !parts.contains($0) }) {
                lines.append(
                    "\(part.name): recorded \(Self.short(left.remove(at: index).value)), sent \(Self.short(part.value))"
                )
            } else {
                lines.append("\(part.name): not recorded, sent \(Self.short(part.value))")
            }
        }
        return lines + left.map { "\($0.name): recorded \(Self.short($0.value)), not sent" }
    }

    private static func short(_ value: String) -> String { value.count > 120 ? "\(value.prefix(120))…" : value }
}

/// The error of a cassette that has no response to a request, or cannot record it.
public struct CassetteError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The reason, with what differs, and what to do.
    public let description: String
    /// The same as ``description``.
    public var errorDescription: String? { description }

    package init(_ description: String) { self.description = description }
}
