/// A media type with its charset (RFC 9110, section 8.3.1).
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// The lowercase type and subtype, such as `application/json`.
    public let essence: String
    /// The lowercase `charset` parameter, or `nil` if there is none.
    public let charset: String?

    /// Creates a media type from the value of a `Content-Type` field, or returns `nil` if it has no type and subtype.
    public init?(_ fieldValue: String) {
        var cursor = FieldCursor(fieldValue)
        cursor.skipSpace()
        let start = cursor.place
        cursor.skip(while: \.isTokenCharacter)
        let slash = cursor.place
        guard slash > start, cursor.take(UInt8(ascii: "/")) else { return nil }
        cursor.skip(while: \.isTokenCharacter)
        guard cursor.place > slash + 1 else { return nil }
        essence = cursor.text(from: start).lowercased()
        cursor.skipSpace()
        guard cursor.isAtEnd || cursor.next == UInt8(ascii: ";") else { return nil }
        charset = Self.charset(&cursor)
    }

    /// Reads parameters up to the first `charset` with a value, quoted or not.
    private static func charset(_ cursor: inout FieldCursor) -> String? {
        while cursor.skip(to: UInt8(ascii: ";")) {
            cursor.skip { $0.isFieldSpace || $0 == UInt8(ascii: ";") }
            let name = cursor.token()
            cursor.skipSpace()
            guard name.isSameFieldName(as: "charset"), cursor.take(UInt8(ascii: "=")) else { continue }
            let value = cursor.value(upTo: ";")
            if !value.isEmpty { return value.lowercased() }
        }
        return nil
    }

    /// Whether the type is JSON: `application/json`, `text/json` or any `+json`.
    public var isJSON: Bool { essence == "application/json" || essence.hasSuffix("+json") || essence == "text/json" }

    /// The type as the value of a `Content-Type` field.
    public var description: String { charset.map { "\(essence); charset=\($0)" } ?? essence }
}

extension Substring.UTF8View {
    /// Returns the text without surrounding spaces and tabs (RFC 9110, section 5.6.3).
    func trimming(_ isTrimmed: (UInt8) -> Bool = \.isFieldSpace) -> Substring.UTF8View {
        let rest = drop(while: isTrimmed)
        let end = rest.lastIndex { !isTrimmed($0) }.map { rest.index(after: $0) } ?? rest.startIndex
        return rest[..<end]
    }
}

extension MediaType {
    /// Creates the media type that files with an extension usually have, or returns `nil` if the extension is not known.
    ///
    /// - Parameter fileExtension: The extension without its dot, such as `jpg`; letter case is ignored.
    public init?(forFileExtension fileExtension: some StringProtocol) {
        // The argument is generic so that `flatMap(MediaType.init)` is not ambiguous.
        guard let type = Self.types[fileExtension.lowercased()] else { return nil }
        self.init(type)
    }

    /// The common types of the registry of IANA, and those that browsers use if it has none.
    private static let types = [
        "7z": "application/x-7z-compressed", "aac": "audio/aac", "apk": "application/vnd.android.package-archive",
        "avif": "image/avif", "avi": "video/x-msvideo", "bmp": "image/bmp", "bz2": "application/x-bzip2",
        "css": "text/css", "csv": "text/csv", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "eml": "message/rfc822",
        "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif", "gpx": "application/gpx+xml",
        "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif", "htm": "text/html", "html": "text/html",
        "ico": "image/vnd.microsoft.icon", "ics": "text/calendar", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "jsonl": "application/jsonl", "jxl": "image/jxl",
        "key": "application/vnd.apple.keynote", "log": "text/plain", "m4a": "audio/mp4", "m4v": "video/x-m4v",
        "md": "text/markdown", "mkv": "video/matroska", "mov": "video/quicktime", "mp3": "audio/mpeg",
        "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
        "numbers": "application/vnd.apple.numbers", "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "otf": "font/otf",
        "pages": "application/vnd.apple.pages", "pdf": "application/pdf", "png": "image/png",
        "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", "rtf": "application/rtf",
        "sqlite": "application/vnd.sqlite3", "svg": "image/svg+xml", "tar": "application/x-tar",
        "tgz": "application/gzip",
        "tif": "image/tiff", "tiff": "image/tiff", "toml": "application/toml", "ttf": "font/ttf", "txt": "text/plain",
        "vcf": "text/vcard", "wasm": "application/wasm", "wav": "audio/wav", "weba": "audio/webm",
        "webm": "video/webm", "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "xz": "application/x-xz", "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
        "zst": "application/zstd",
    ]
}
