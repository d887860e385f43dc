extension URLParts {
    /// How a path contains `.` or `..` as a segment.
    enum DotSegments: Sendable, Equatable {
        /// It contains none.
        case absent
        /// Only unescaped ones.
        case literal
        /// At least one has an escaped dot, such as `%2e%2E`, which is equivalent (RFC 3986, section 6.2.2.2).
        case escaped
    }

    /// Returns how an encoded path contains dot segments.
    static func dotSegments(in path: some StringProtocol) -> DotSegments {
        guard path.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }) else { return .absent }
        var found = DotSegments.absent
        for segment in path.utf8.split(separator: UInt8(ascii: "/")) where dots(in: segment) != nil {
            if segment.contains(UInt8(ascii: "%")) { return .escaped }
            found = .literal
        }
        return found
    }

    /// Removes dot segments from an encoded path (RFC 3986, section 5.2.4), including escaped ones, because some
    /// clients and servers treat them as dots.
    static func removingDotSegments(_ path: String) -> String {
        guard dotSegments(in: path) != .absent else { return path }
        var kept: [Substring.UTF8View] = []
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            guard let count = dots(in: segment) else {
                kept.append(segment)
                continue
            }
            // The first segment is the empty text before the first slash.
            if count == 2, kept.count > 1 { kept.removeLast() }
            if index == segments.count - 1 { kept.append("".utf8[...]) }
        }
        var result = kept.map { String(Substring($0)) }.joined(separator: "/")
        if result.isEmpty, path.utf8.first == UInt8(ascii: "/") { result = "/" }
        return result
    }

    /// Returns the number of dots of a segment that consists of one or two, escaped or not, or `nil` for any other.
    private static func dots(in segment: some Collection<UInt8>) -> Int? {
        guard segment.count <= 6, segment.allSatisfy({ ".%2eE".utf8.contains($0) }) else { return nil }
        let text = String(decoding: segment, as: UTF8.self).lowercased().replacing("%2e", with: ".")
        return text == "." ? 1 : text == ".." ? 2 : nil
    }
}
